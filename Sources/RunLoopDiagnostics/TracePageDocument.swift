import RunLoopKit

extension TracePage {
    static let document = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>What the loops did</title>
        <style>/*STYLE*/</style>
        </head>
        <body>
        <header>
          <h1>What the loops did</h1>
          <p id="summary"></p>
        </header>
        <noscript><p>This page needs JavaScript. It loads nothing.</p></noscript>
        <main>
          <section id="findings" hidden aria-label="Findings"></section>
          <section>
            <div class="bar">
              <h2>Timeline</h2>
              <span id="legend"></span>
              <span class="buttons">
                <button id="in" title="Zoom in (+)">+</button>
                <button id="out" title="Zoom out (−)">−</button>
                <button id="all" title="Show all (0)">All</button>
              </span>
            </div>
            <canvas id="timeline" tabindex="0" aria-label="Timeline of all threads"></canvas>
            <p class="hint">Wheel: zoom. Drag, or Shift and wheel: pan. Click a bar to see what caused it and what it
              caused; double-click to zoom to it. Keys: + − 0 ← →</p>
            <div id="details" aria-live="polite">Nothing is selected.</div>
          </section>
          <section>
            <h2>Handlers</h2>
            <div class="scroll"><table id="handlers"><thead></thead><tbody></tbody></table></div>
          </section>
          <div class="columns">
            <section>
              <h2>Longest stalls</h2>
              <p class="hint">The ten calls with the longest own time: without the handlers, waits and runs inside.</p>
              <div class="scroll"><table id="stalls"><thead></thead><tbody></tbody></table></div>
            </section>
            <section>
              <h2>How late timers fired</h2>
              <div id="lateness"></div>
            </section>
          </div>
        </main>
        <div id="tip" hidden></div>
        <script>
        "use strict";
        const T = /*DATA*/;
        /*SCRIPT*/
        </script>
        </body>
        </html>

        """#

    static let style = #"""

        :root {
          --back: #f6f7f9; --card: #fff; --text: #1d2530; --dim: #5d6977; --line: #dde2e8; --accent: #0b62d6;
          --warn: #8a4b00; --warn-back: #fff3df; --select: #d4145a;
          --timer: #e8a200; --source0: #18a7b5; --source1: #b455c9; --block: #3c9d4e; --observer: #5b7fd0;
          --mainQueue: #6d74e0; --job: #d9603b; --wait: #e6eaef; --run: #f0f2f5; --bar-text: #14181d;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --back: #14181d; --card: #1c2229; --text: #e6eaef; --dim: #9aa6b3; --line: #303943; --accent: #6cb0ff;
            --warn: #ffc168; --warn-back: #33291a; --select: #ff6d9f;
            --timer: #d9a021; --source0: #2fa9b5; --source1: #b873c8; --block: #55a865; --observer: #7796d8;
            --mainQueue: #8a90ea; --job: #dd7a5b; --wait: #262e37; --run: #222931; --bar-text: #0c0f12;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--back); color: var(--text);
          font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
        header, main { max-width: 1400px; margin: 0 auto; padding: 0 20px; }
        header { padding-top: 18px; }
        h1 { font-size: 22px; margin: 0; }
        h2 { font-size: 16px; margin: 0 0 6px; }
        #summary { margin: 2px 0 14px; color: var(--dim); }
        section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px;
          margin-bottom: 14px; min-width: 0; }
        #findings { background: var(--warn-back); border-color: var(--warn); }
        #findings h2 { color: var(--warn); }
        #findings p { margin: 4px 0; cursor: pointer; }
        #findings p:hover, #findings p:focus { text-decoration: underline; }
        .bar { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 16px; margin-bottom: 6px; }
        .bar h2 { margin: 0; }
        .buttons { margin-left: auto; white-space: nowrap; }
        button { font: inherit; min-width: 32px; padding: 2px 9px; border: 1px solid var(--line); border-radius: 6px;
          background: var(--back); color: var(--text); cursor: pointer; }
        button:hover, button:focus-visible { border-color: var(--accent); }
        #legend { display: flex; flex-wrap: wrap; gap: 2px 12px; color: var(--dim); font-size: 12px; }
        #legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 4px; }
        canvas { display: block; width: 100%; cursor: grab; touch-action: none; border-radius: 4px; }
        canvas:focus-visible { outline: 2px solid var(--accent); }
        .hint { color: var(--dim); font-size: 12px; margin: 4px 0; }
        #details { border-top: 1px solid var(--line); margin-top: 8px; padding-top: 8px; min-height: 30px; }
        #details b { color: var(--select); }
        #details a { color: var(--accent); cursor: pointer; }
        .scroll { overflow-x: auto; max-height: 420px; overflow-y: auto; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th { text-align: right; color: var(--dim); font-weight: 600; padding: 3px 8px;
          border-bottom: 1px solid var(--line); white-space: nowrap;
          position: sticky; top: 0; background: var(--card); }
        th.sorts { cursor: pointer; }
        th[aria-sort] { color: var(--text); }
        td { text-align: right; padding: 3px 8px; white-space: nowrap; }
        th.name, td.name { text-align: left; width: 60%; }
        td.name { white-space: normal; overflow-wrap: anywhere; }
        td i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
        tbody tr { cursor: pointer; }
        tbody tr:hover, tbody tr:focus { background: var(--back); outline: none; }
        .columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 14px; }
        @media (max-width: 900px) { .columns { grid-template-columns: minmax(0, 1fr); gap: 0; } }
        .row { display: grid; grid-template-columns: 82px 48px 1fr; gap: 8px; align-items: center; }
        .row span { text-align: right; font-variant-numeric: tabular-nums; }
        .row div { height: 13px; border-radius: 2px; background: var(--timer); }
        #tip { position: fixed; pointer-events: none; max-width: 420px; padding: 6px 9px; border-radius: 6px;
          background: var(--card); border: 1px solid var(--line); box-shadow: 0 2px 10px #0005; white-space: pre-line;
          font-size: 13px; z-index: 2; }

        """#
}
