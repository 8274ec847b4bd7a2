import RunLoopKit

extension TracePage {
    /// The script: names for the data, the findings and the tables.
    static let tables = #"""

        const KIND = 0, TITLE = 1, THREAD = 2, LOOP = 3, START = 4, END = 5, DEPTH = 6, OWN = 7, LATE = 8, OPEN = 9,
          REASON = 10;
        const kindNames = { timer: "timer", source0: "source", source1: "port or descriptor", block: "block",
          job: "job", observer: "observer", mainQueue: "main queue", wait: "wait", run: "run" };
        const byId = id => document.getElementById(id);

        function make(tag, text, parent) {
          const made = document.createElement(tag);
          if (text !== undefined) made.textContent = text;
          if (parent) parent.append(made);
          return made;
        }

        function swatch(kind, parent) { make("i", "", parent).style.background = "var(--" + kind + ")"; }

        // Three significant digits, with the unit.
        function time(nanoseconds) {
          const size = Math.abs(nanoseconds);
          const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"]
            : [1, "ns"];
          const value = nanoseconds / unit, digits = unit === 1 ? 0 : Math.abs(value) >= 100 ? 0
            : Math.abs(value) >= 10 ? 1 : 2;
          return value.toFixed(digits) + " " + name;
        }

        function at(nanoseconds) { return (nanoseconds / 1e6).toFixed(3) + " ms"; }

        function plural(count, noun) { return count + " " + noun + (count === 1 ? "" : "s"); }

        function act(element, action) {
          element.tabIndex = 0;
          element.addEventListener("click", action);
          element.addEventListener("keydown", event => { if (event.key === "Enter") action(); });
        }

        byId("summary").textContent = [plural(T.loops.length, "loop"), plural(T.threads.length, "thread"),
          plural(T.events, "event") + (T.lost ? ", " + T.lost + " older ones lost" : ""), time(T.duration)].join(" · ");

        if (T.findings.length) {
          const box = byId("findings");
          box.hidden = false;
          make("h2", "Probable mistakes", box);
          for (const [kind, place, text, span] of T.findings) {
            const line = make("p", "", box);
            line.dataset.kind = kind;
            make("strong", place + ": ", line);
            line.append(text);
            act(line, () => show(span));
          }
        }

        // Handlers: the columns, their titles, and what stands in them.
        const columns = [["calls", "Calls", 3, String], ["total", "Total", 4, time], ["own", "Own", 5, time],
          ["worst", "Worst", 6, time], ["handler", "Handler", 1, null]];
        let order = "total";

        function fillHandlers() {
          const table = byId("handlers"), head = table.tHead, body = table.tBodies[0];
          head.textContent = body.textContent = "";
          const titles = make("tr", undefined, head);
          for (const [key, title, , format] of columns) {
            const cell = make("th", title + (key === order ? (format ? " ▾" : " ▴") : ""), titles);
            cell.className = "sorts" + (format ? "" : " name");
            cell.dataset.key = key;
            if (key === order) cell.setAttribute("aria-sort", format ? "descending" : "ascending");
            act(cell, () => { sort(key); location.hash = "sort=" + key; });
          }
          const column = columns.find(column => column[0] === order);
          const rows = T.handlers.slice().sort((a, b) => order === "handler"
            ? T.titles[a[1]].localeCompare(T.titles[b[1]]) : b[column[2]] - a[column[2]]);
          for (const row of rows) {
            const line = make("tr", undefined, body);
            for (const [, , index, format] of columns) {
              const cell = make("td", format ? format(row[index]) : undefined, line);
              if (format) continue;
              cell.className = "name";
              swatch(row[0], cell);
              cell.append(T.titles[row[1]] + " of " + T.loops[row[2]]);
            }
            line.title = "Show the longest call";
            act(line, () => show(row[7]));
          }
        }

        function sort(key) {
          if (!columns.some(column => column[0] === key)) return;
          order = key;
          fillHandlers();
        }

        function readHash() {
          const found = /sort=([a-z]+)/.exec(location.hash);
          sort(found ? found[1] : "total");
        }
        addEventListener("hashchange", readHash);
        readHash();

        {
          const table = byId("stalls"), titles = make("tr", undefined, table.tHead);
          for (const title of ["Own", "At", "Handler"]) make("th", title, titles).className = title === "Handler"
            ? "name" : "";
          for (const index of T.stalls) {
            const span = T.spans[index], line = make("tr", undefined, table.tBodies[0]);
            make("td", time(span[OWN]), line);
            make("td", at(span[START]), line);
            const cell = make("td", undefined, line);
            cell.className = "name";
            swatch(span[KIND], cell);
            cell.append(T.titles[span[TITLE]] + " of " + T.loops[span[LOOP]]);
            act(line, () => show(index));
          }
        }

        {
          const most = Math.max(1, ...T.lateness.map(row => row[1]));
          for (const [label, count] of T.lateness) {
            const row = make("div", undefined, byId("lateness"));
            row.className = "row";
            make("span", label, row);
            make("span", count || "", row);
            make("div", "", row).style.width = 100 * count / most + "%";
          }
        }

        for (const kind of ["timer", "source0", "source1", "block", "job", "mainQueue", "observer", "wait"]) {
          const item = make("span", undefined, byId("legend"));
          swatch(kind, item);
          item.append(kindNames[kind]);
        }

        """#
}
