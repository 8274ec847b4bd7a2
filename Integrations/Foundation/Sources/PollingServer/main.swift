// A server's main function that polls, as many on Linux do, and the same one without: `PollingServer before` and
// `PollingServer after`. Each says how often its main thread woke in an idle second, and ends on SIGTERM.
import Foundation
import RunLoopKit
import RunLoopKitFoundation

nonisolated(unsafe) var isDone = false

/// How often a thread has given up its processor to wait, by the kernel's count.
func waits(of thread: Int32) -> Int {
    let status = try! String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }!
    return Int(line.split(separator: "\t").last!)!
}

/// Prints what an idle second of the main thread costs, on a thread of its own.
func observe() {
    Thread.detachNewThread {
        let main = getpid()
        Thread.sleep(forTimeInterval: 1)  // The start is over.
        let before = waits(of: main)
        Thread.sleep(forTimeInterval: 1)
        let count = waits(of: main) - before
        let threads = try! FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count - 1
        print("wake-ups: \(count), threads besides the observer: \(threads)")
        fflush(nil)
    }
}

observe()
if CommandLine.arguments.last == "before" {
    signal(SIGTERM) { _ in isDone = true }
    while !isDone { RunLoop.main.run(until: Date() + 0.1) }
} else {
    let bridge = try FoundationBridge.begin()
    let signal = try Loop.SignalSource(SIGTERM) { _, _ in Loop.main.stop() }
    Loop.main.add(signal, in: .common)
    bridge.run()
    bridge.end()
}
print("ended by the signal")
