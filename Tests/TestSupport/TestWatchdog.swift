import Foundation

/// Ends the process when a test hangs, and names the test.
///
/// A thread of its own does that: Swift Testing's `.timeLimit` cancels a task, which does not end a test that blocks or
/// spins.
package final class TestWatchdog: @unchecked Sendable {
    /// The watchdog of the trait `timeBound`. A tick is a second.
    package static let shared = TestWatchdog(tick: 1)

    private let tick: TimeInterval

    // Not Synchronization's Mutex, for which ThreadSanitizer reports false races.
    private let lock = NSLock()

    // Guarded by `lock`.
    private var watch = HangWatch()
    private var hasThread = false

    /// - Parameter tick: In seconds.
    package init(tick: TimeInterval) { self.tick = tick }

    /// Begins to watch a test; the first call starts the thread. Returns the number with which `end(_:)` ends the test.
    package func begin(_ name: String, limit: Int) -> Int {
        lock.withLock {
            if !hasThread { Thread.detachNewThread { self.run() } }
            hasThread = true
            return watch.begin(name, limit: limit)
        }
    }

    package func end(_ number: Int) { lock.withLock { watch.end(number) } }

    /// The names of the watched tests, oldest first.
    package var names: [String] { lock.withLock { watch.all.map(\.name) } }

    private func run() {
        while true {
            Thread.sleep(forTimeInterval: tick)
            let (hanging, all) = lock.withLock { (watch.tick(), watch.all) }
            if hanging.isEmpty { continue }
            FileHandle.standardError.write(Data(complaint(about: hanging, among: all).utf8))
            for child in children { kill(child, SIGKILL) }
            // Rather than `exit`: a core dump, or a backtrace of all threads, shows where it hangs.
            abort()
        }
    }

    /// The programs that tests run: one that hangs must not outlive them.
    private var children: [pid_t] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let lists = threads.map { try? String(contentsOfFile: "/proc/self/task/\($0)/children", encoding: .utf8) }
        return lists.flatMap { ($0 ?? "").split(separator: " ") }.compactMap { pid_t($0) }
    }

    private func complaint(about hanging: [HangWatch.Running], among all: [HangWatch.Running]) -> String {
        let lines = hanging.map {
            "hangs: \($0.name), under way for \($0.age) ticks of \(tick) s, the last \($0.limit) without an event\n"
        }
        let others = all.filter { !hanging.contains($0) }.map { "runs besides: \($0.name)\n" }
        return (lines + others).joined() + """
            The test process ends here. SWIFT_BACKTRACE=enable=yes,preset=full shows what each thread does; \
            \(TimeBound.variable)=SECONDS sets another limit, 0 none.

            """
    }
}
