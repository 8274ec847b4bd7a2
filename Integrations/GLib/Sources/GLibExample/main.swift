// GLib's main loop runs the main thread, as under GTK, and hosts Loop.main: GLib's own timeouts, the loop's timers,
// @MainActor tasks and DispatchQueue.main all run on one thread, and nothing polls.
import CRunLoopKitGLib
import Dispatch
import RunLoopKit
import RunLoopKitGLib

let mainLoop = g_main_loop_new(nil, 0)
let start = Loop.main.now

/// How often each kind of event has happened.
var counts: [String: Int] = [:]

/// The program ends when it has counted this many of each kind.
let wanted = ["GLib timeout": 3, "Loop timer": 3, "@MainActor": 3, "DispatchQueue.main": 3]

@MainActor func note(_ what: String) {
    counts[what, default: 0] += 1
    let milliseconds = start.duration(to: Loop.main.now) / Duration.milliseconds(1)
    print("\(Int(milliseconds)) ms: \(what)")
    if counts == wanted { g_main_loop_quit(mainLoop) }
}

// This line is all it takes.
let attachment = try Loop.main.attach(to: .default)

// GLib's own.
g_timeout_add(
    20,
    { _ in
        MainActor.assumeIsolated { note("GLib timeout") }
        return MainActor.assumeIsolated { counts["GLib timeout"]! < 3 } ? 1 : 0
    }, nil)

// A timer on the loop.
let timer = Loop.Timer(every: .milliseconds(25), isolation: .shared) { firing in
    note("Loop timer")
    if counts["Loop timer"] == 3 { firing.timer.invalidate() }
}
Loop.main.add(timer, in: .common)

// Swift concurrency.
Task { @MainActor in
    for _ in 1...3 {
        try? await Task.sleep(for: .milliseconds(15))
        note("@MainActor")
    }
}

// Dispatch, from another thread.
DispatchQueue.global().async {
    for _ in 1...3 {
        DispatchQueue.main.sync { note("DispatchQueue.main") }
        DispatchQueue.main.async {}
    }
}

g_main_loop_run(mainLoop)

attachment.detach()
let passes = Loop.main.counters.passes
print("ended after \(passes) passes of the loop")
