import RunLoopKit

extension TracePage {
    /// The script's second part: the timeline.
    static let timeline = #"""

        const canvas = byId("timeline"), pen = canvas.getContext("2d"), tip = byId("tip");
        const GUTTER = 168, AXIS = 22, ROW = 19, GAP = 9, SHORTEST = 200;
        const whole = Math.max(T.duration, SHORTEST) * 1.01;
        let left = 0, length = whole, selected = -1, colours = {}, width = 0;

        // The tracks, with as many rows as spans nest.
        const tracks = T.threads.map(name => ({ name, rows: 1, spans: [], top: 0 }));
        T.spans.forEach((span, index) => {
          const track = tracks[span[THREAD]];
          track.spans.push(index);
          track.rows = Math.max(track.rows, span[DEPTH] + 1);
        });
        let height = AXIS;
        const byName = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });
        for (const track of tracks.slice().sort(byName)) {
          track.top = height + GAP / 2;
          height += track.rows * ROW + GAP;
        }

        const x = time => GUTTER + (time - left) / length * (width - GUTTER);
        const timeAt = pixel => left + (pixel - GUTTER) / (width - GUTTER) * length;
        const rowTop = span => tracks[span[THREAD]].top + span[DEPTH] * ROW;

        function readColours() {
          const style = getComputedStyle(document.documentElement);
          for (const name of ["text", "dim", "line", "card", "select", "accent", "bar-text", ...Object.keys(kindNames)])
            colours[name] = style.getPropertyValue("--" + name).trim();
        }

        function resize() {
          const ratio = devicePixelRatio || 1;
          width = canvas.clientWidth;
          canvas.width = width * ratio;
          canvas.height = height * ratio;
          canvas.style.height = height + "px";
          pen.setTransform(ratio, 0, 0, ratio, 0, 0);
          draw();
        }

        function drawAxis() {
          const wish = length / Math.max(2, (width - GUTTER) / 110);
          const power = 10 ** Math.floor(Math.log10(wish));
          const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= wish);
          const digits = Math.max(0, -Math.floor(Math.log10(step / 1e6) + 1e-9));
          pen.fillStyle = colours.dim;
          pen.strokeStyle = colours.line;
          pen.lineWidth = 1;
          pen.textAlign = "left";
          for (let tick = Math.ceil(left / step) * step; tick <= left + length; tick += step) {
            const place = Math.round(x(tick)) + 0.5;
            pen.beginPath();
            pen.moveTo(place, 4);
            pen.lineTo(place, height);
            pen.stroke();
            pen.fillText((tick / 1e6).toFixed(digits) + " ms", place + 4, 11);
          }
        }

        function drawSpan(index) {
          const span = T.spans[index], begin = x(span[START]), end = x(span[END]);
          if (end < GUTTER || begin > width) return;
          const from = Math.max(begin, GUTTER), to = Math.max(Math.min(end, width), from + 1), top = rowTop(span);
          pen.fillStyle = colours[span[KIND]];
          pen.fillRect(from, top, to - from, ROW - 2);
          if (index === selected) {
            pen.strokeStyle = colours.select;
            pen.lineWidth = 2;
            pen.strokeRect(from, top, to - from, ROW - 2);
          }
          if (to - from < 34) return;
          pen.save();
          pen.beginPath();
          pen.rect(from, top, to - from - 3, ROW);
          pen.clip();
          const isQuiet = span[KIND] === "wait" || span[KIND] === "run";
          pen.fillStyle = isQuiet ? colours.dim : colours["bar-text"];
          pen.fillText(T.titles[span[TITLE]], from + 5, top + 9);
          pen.restore();
        }

        // From the sender's bar, or its track if it had none, to the handler's bar.
        function drawArrow(arrow, isStrong) {
          const [time, thread, sender, callout] = arrow, target = T.spans[callout];
          const begin = x(time), end = x(target[START]);
          if (Math.max(begin, end) < GUTTER || Math.min(begin, end) > width) return;
          const from = sender < 0 ? tracks[thread].top + ROW / 2 : rowTop(T.spans[sender]) + ROW / 2;
          const to = rowTop(target) + ROW / 2 - 1, bend = Math.max(14, Math.abs(end - begin) / 2);
          pen.strokeStyle = pen.fillStyle = isStrong ? colours.select : colours.accent;
          pen.globalAlpha = isStrong ? 1 : 0.45;
          pen.lineWidth = isStrong ? 2 : 1;
          pen.beginPath();
          pen.moveTo(begin, from);
          pen.bezierCurveTo(begin + bend, from, end - bend, to, end, to);
          pen.stroke();
          pen.beginPath();
          pen.moveTo(end + 1, to);
          pen.lineTo(end - 6, to - 4);
          pen.lineTo(end - 6, to + 4);
          pen.fill();
          pen.beginPath();
          pen.arc(begin, from, 2.5, 0, 7);
          pen.fill();
          pen.globalAlpha = 1;
        }

        const isOf = arrow => selected >= 0 && (arrow[3] === selected || arrow[2] === selected);

        function draw() {
          pen.clearRect(0, 0, width, height);
          pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
          pen.textBaseline = "middle";
          drawAxis();
          for (const track of tracks) for (const index of track.spans) drawSpan(index);
          const seen = T.arrows.filter(arrow => {
            const end = T.spans[arrow[3]][START];
            return Math.max(end, arrow[0]) >= left && Math.min(end, arrow[0]) <= left + length;
          });
          pen.save();
          pen.beginPath();
          pen.rect(GUTTER, AXIS, width - GUTTER, height);
          pen.clip();
          // So many arrows would hide the bars.
          if (seen.length < 400) for (const arrow of seen) drawArrow(arrow, false);
          for (const arrow of T.arrows) if (isOf(arrow)) drawArrow(arrow, true);
          pen.restore();
          drawNames();
        }

        function drawNames() {
          pen.fillStyle = colours.card;
          pen.fillRect(0, 0, GUTTER - 1, height);
          pen.strokeStyle = colours.line;
          pen.lineWidth = 1;
          for (const track of tracks) {
            const line = Math.round(track.top - GAP / 2) + 0.5;
            pen.beginPath();
            pen.moveTo(0, line);
            pen.lineTo(width, line);
            pen.stroke();
            pen.fillStyle = colours.text;
            let name = track.name;
            while (name.length > 3 && pen.measureText(name).width > GUTTER - 12) name = name.slice(0, -2) + "…";
            pen.fillText(name, 2, track.top + 9);
          }
        }

        function look(newLeft, newLength) {
          length = Math.min(Math.max(newLength, SHORTEST), whole);
          left = Math.min(Math.max(newLeft, 0), whole - length);
          draw();
        }

        function zoom(factor, pixel) {
          const middle = pixel === undefined ? left + length / 2 : timeAt(pixel);
          const share = (middle - left) / length, next = Math.min(Math.max(length * factor, SHORTEST), whole);
          look(middle - share * next, next);
        }

        // Selects a span, and zooms to it with its surroundings.
        function show(index) {
          if (index < 0) return;
          const span = T.spans[index], size = Math.max(span[END] - span[START], SHORTEST) * 8;
          selected = index;
          look((span[START] + span[END]) / 2 - size / 2, size);
          describe();
          canvas.scrollIntoView({ block: "nearest" });
        }

        function select(index) {
          selected = index;
          describe();
          draw();
        }

        function facts(index) {
          const span = T.spans[index], lines = [];
          lines.push("at " + at(span[START]) + ", for " + time(span[END] - span[START])
            + (span[OPEN] ? ", not ended yet" : ""));
          if (span[OWN] !== span[END] - span[START]) lines.push("own time: " + time(span[OWN]));
          if (span[KIND] === "timer") lines.push(span[LATE] > 0 ? time(span[LATE]) + " late" : "on time");
          if (T.titles[span[REASON]]) lines.push("ended by " + T.titles[span[REASON]]);
          lines.push("loop " + T.loops[span[LOOP]] + ", thread " + T.threads[span[THREAD]]);
          return lines;
        }

        function describe() {
          const box = byId("details");
          box.textContent = "";
          if (selected < 0) { box.textContent = "Nothing is selected."; return; }
          make("b", T.titles[T.spans[selected][TITLE]], box);
          box.append(" — " + facts(selected).join("; ") + ". ");
          let caused = 0;
          for (const [time, thread, sender, callout] of T.arrows) {
            if (callout === selected) {
              box.append("Caused at " + at(time) + " by ");
              if (sender < 0) box.append("thread " + T.threads[thread] + ". ");
              else { link(sender, box); box.append(" on thread " + T.threads[thread] + ". "); }
            } else if (sender === selected && caused++ < 8) {
              box.append(caused === 1 ? "Causes " : ", ");
              link(callout, box);
            }
          }
          if (caused > 8) box.append(" and " + (caused - 8) + " more");
        }

        function link(index, parent) { act(make("a", T.titles[T.spans[index][TITLE]], parent), () => show(index)); }

        function hit(event) {
          const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
          if (px < GUTTER) return -1;
          const track = tracks.find(track => py >= track.top && py < track.top + track.rows * ROW);
          if (!track) return -1;
          const depth = Math.floor((py - track.top) / ROW);
          // A bar may be thinner than a finger: the nearest within three pixels.
          let best = -1, distance = 4;
          for (const index of track.spans) {
            const span = T.spans[index];
            if (span[DEPTH] !== depth) continue;
            const away = Math.max(x(span[START]) - px, px - x(span[END]), 0);
            if (away < distance) { best = index; distance = away; }
          }
          return best;
        }

        let drag = null;
        canvas.addEventListener("pointerdown", event => {
          drag = { from: event.clientX, left, hasMoved: false };
          canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", event => {
          if (drag) {
            const moved = event.clientX - drag.from;
            if (Math.abs(moved) > 3) drag.hasMoved = true;
            if (drag.hasMoved) look(drag.left - moved / (width - GUTTER) * length, length);
            return;
          }
          const index = hit(event);
          tip.hidden = index < 0;
          if (index < 0) return;
          tip.textContent = [T.titles[T.spans[index][TITLE]], ...facts(index)].join("\n");
          tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
          tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
        });
        canvas.addEventListener("pointerup", event => {
          if (drag && !drag.hasMoved) select(hit(event));
          drag = null;
        });
        canvas.addEventListener("pointercancel", () => { drag = null; });
        canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
        canvas.addEventListener("dblclick", event => {
          const index = hit(event);
          if (index < 0) look(0, whole); else show(index);
        });
        canvas.addEventListener("wheel", event => {
          event.preventDefault();
          const sideways = event.shiftKey ? event.deltaY : event.deltaX;
          const upright = event.shiftKey ? 0 : event.deltaY;
          if (Math.abs(sideways) > Math.abs(upright)) look(left + sideways / width * length, length);
          else zoom(1.0015 ** event.deltaY, event.clientX - canvas.getBoundingClientRect().left);
        }, { passive: false });
        canvas.addEventListener("keydown", event => {
          const keys = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
            "0": () => look(0, whole), ArrowLeft: () => look(left - length / 5, length),
            ArrowRight: () => look(left + length / 5, length) };
          if (!keys[event.key]) return;
          event.preventDefault();
          keys[event.key]();
        });
        byId("in").addEventListener("click", () => zoom(0.6));
        byId("out").addEventListener("click", () => zoom(1 / 0.6));
        byId("all").addEventListener("click", () => look(0, whole));
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
        addEventListener("resize", resize);
        readColours();
        resize();

        // The fragment may name a bar to begin with, such as #show=job.
        const wanted = /show=([^&]+)/.exec(location.hash);
        if (wanted) show(T.spans.findIndex(span => T.titles[span[TITLE]].startsWith(decodeURIComponent(wanted[1]))));

        """#
}
