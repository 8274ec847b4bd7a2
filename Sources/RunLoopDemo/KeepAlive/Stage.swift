import RunLoopKit

/// The main thread of a story: waits in its run loop, so that an interruption ends every wait.
struct Stage: Sendable {
    private let loop = Loop.current

    /// Makes the calling thread, the main one, the stage. After that the process has the resources that it acquires
    /// only once: those of a main loop's first run, and those of the first thread.
    init() throws {
        Interruption.heed(in: [.default])
        try loop.prepare(.default)
        // A run in an empty mode does not wait. This source owns no descriptor.
        let source = Loop.Source0 {}
        source.label = "keeps the run waiting"
        loop.add(source, in: .default)
        // ThreadSanitizer, for example, starts a thread of its own with the first one.
        try KernelThread.run {}
        pause(.milliseconds(1))
    }

    /// Waits for `duration`; not at all after an interruption.
    func pause(_ duration: Duration) {
        let end = loop.now.advanced(by: duration)
        repeat {
            loop.run(mode: .default, until: end)
        } while loop.now < end && !Interruption.isRequested
    }

    /// Waits until `proceed()` or an interruption.
    func wait() { loop.run(mode: .default, until: .distantFuture) }

    /// Ends `wait()`, also one that has not begun. From any thread.
    func proceed() {
        // In a block, because a stop between two runs would be lost; a block waits for the next run.
        loop.perform { [loop] in loop.stop() }
    }
}
