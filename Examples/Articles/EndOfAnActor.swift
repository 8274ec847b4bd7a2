import RunLoopKit
import Synchronization

// An actor on a thread of its own, to which other threads send lines.
actor Journal {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }
    private var written = 0

    private let lines = Loop.MessagePort<String>()

    init() throws {
        thread = try LoopThread(name: "journal")
        lines.setHandler(isolation: self) { journal, line in
            journal.write(line)
        }
    }

    /// Begins. Any thread may send to the port.
    func open() -> Loop.MessagePort<String> {
        thread.loop.add(lines, in: .common)
        return lines
    }

    private func write(_ line: String) { written += 1 }

    /// The orderly end: every line that the port has accepted is written,
    /// and each later send is refused. Returns the number of lines. It
    /// stops the thread before it leaves the caller's actor.
    func close(isolation: isolated (any Actor)? = #isolation) async -> Int {
        let count = await withCheckedContinuation { ended in
            let handler = thread.loop.onEnd {
                // On the journal's thread. The loop has ended, so no send
                // is accepted any more.
                let count = self.assumeIsolated { $0.writeWhatWaits() }
                ended.resume(returning: count)
            }
            if handler == nil {  // closed before
                ended.resume(returning: 0)
            }
            thread.stop()
        }
        // In a task of its own, so that it waits even if this one is
        // cancelled.
        try? await Task { [thread] in try await thread.waitForEnd() }.value
        return count
    }

    private func writeWhatWaits() -> Int {
        for line in lines.takeWaiting() { write(line) }
        return written
    }
}

let accepted = Atomic(0)
try Loop.runMain {
    let journal = try Journal()
    let port = await journal.open()

    // Threads that send until they are refused.
    let senders = try LoopThreadPool(count: 2)
    for sender in 1...2 {
        senders.perform {
            while port.send("a line of sender \(sender)") {
                accepted.add(1, ordering: .relaxed)
            }
        }
    }
    let written = await journal.close()
    try await senders.drain()
    print(
        "all that was accepted is written:",
        written == accepted.load(ordering: .relaxed))
    print("a send after the end:", port.send("too late"))
}
