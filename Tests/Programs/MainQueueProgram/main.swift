// Scenarios with the main dispatch queue, on RunLoopKit ("kit") or the toolchain's CFRunLoop ("cf"): prints the traces.
// With "stay" or "prepared": only calls Loop.main.run(), and a thread ends it through the queue.
import ConformanceSupport
import Dispatch
import Foundation
import RunLoopKit

/// Everything here runs on the main thread, which the compiler cannot know.
struct OnMainThread<Value>: @unchecked Sendable {
    let value: Value
}

/// Posts to the main queue a job that logs to the trace.
func queue(_ s: Stage, _ label: String, then: @escaping () -> Void = {}) {
    let job = OnMainThread(value: {
        s.log("queue \(label)" + (Thread.isMainThread ? "" : " on the wrong thread"))
        then()
    })
    DispatchQueue.main.async { job.value() }
}

/// Posts to the main queue a job that does not log.
func queueQuietly(_ body: @escaping () -> Void) {
    let job = OnMainThread(value: body)
    DispatchQueue.main.async { job.value() }
}

/// The length of the scenarios' moments, in seconds.
let moment = CommandLine.arguments.dropFirst(2).first.flatMap(Double.init) ?? 0.05

func play(_ subject: any Subject) -> [String] {
    var trace: [String] = []
    for scenario in scenarios {
        let s = Stage(subject, moment: moment)
        s.log("-- \(scenario.title)")
        scenario.play(s)
        trace += s.trace
        s.forgetObservers()
        s.clear()
    }
    return trace
}

switch CommandLine.arguments.dropFirst().first {
case "kit":
    print(play(KitSubject(realTimeOn: .main)).joined(separator: "\n"))
case "cf":
    print(play(CFSubject()).joined(separator: "\n"))
case "stay", "prepared":
    if CommandLine.arguments[1] == "prepared" { try Loop.main.prepare(.default) }
    let thread = try LoopThread(name: "elsewhere")
    thread.perform {
        // Posted after the main loop has had time to find that it has no work.
        while !Loop.main.isWaiting { sched_yield() }
        DispatchQueue.main.sync { print("sync on main: \(Thread.isMainThread)") }
        Task { @MainActor in
            print("main actor: \(Thread.isMainThread)")
            await Task.yield()
            print("main actor again: \(Thread.isMainThread)")
            DispatchQueue.main.async { Loop.main.stop() }
        }
    }
    Loop.main.run()
    print("stopped")
default:
    print("usage: MainQueueProgram kit [MOMENT]|cf [MOMENT]|stay|prepared")
    exit(64)
}
