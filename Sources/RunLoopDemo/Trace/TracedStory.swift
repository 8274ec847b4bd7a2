import RunLoopDiagnostics
import RunLoopKit

/// What a story that is traced into a file has in addition: an actor on a loop of its own, and a thread whose loop has
/// three mistakes in it, which the trace reports.
struct TracedStory {
    private let tracer = LoopTracer()
    private let loop = Loop.current
    private let archive: Archive
    private let mistakes: Mistakes
    private let timer: Loop.Timer

    /// - Throws: `LoopError` if threads or descriptors cannot be made.
    init() throws {
        let archive = try Archive()
        self.archive = archive
        mistakes = try Mistakes()
        timer = Loop.Timer(after: .milliseconds(40), repeating: .milliseconds(120)) { [loop] _ in
            // On the main actor, so the arrow to the actor's job begins on this thread.
            Task { @MainActor in await archive.keep("a page", andTell: loop) }
        }
        timer.label = "archive a page"
    }

    /// Begins to trace these loops and others.
    func begin(with others: [LoopThread]) {
        tracer.attach(to: loop, as: "main")
        for thread in others + [archive.thread, mistakes.thread] { tracer.attach(to: thread.loop, as: thread.name) }
        loop.add(timer, in: .common)
        mistakes.begin()
    }

    /// Ends the story, and returns what was traced.
    func end() -> LoopTrace {
        timer.invalidate()
        archive.thread.stop()
        // By itself it stops once the mistakes are made, however slow the machine is.
        if Interruption.isRequested { mistakes.thread.stop() }
        for thread in [archive.thread, mistakes.thread] { thread.join() }
        tracer.detach()
        return tracer.snapshot()
    }
}

/// An actor that lives on a thread.
private actor Archive {
    nonisolated let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    private var pages: [String] = []

    init() throws { thread = try LoopThread(name: "archive") }

    func keep(_ page: String, andTell loop: Loop) {
        pages.append(page)
        spend(.milliseconds(3))
        loop.perform(in: .common, label: "page is kept") { spend(.milliseconds(1)) }
    }
}

/// A thread with the three mistakes that a trace reports: a timer that is always late, a descriptor whose handler
/// does not read it, and a block that posts itself.
private final class Mistakes: Sendable {
    let thread: LoopThread
    private let unread: Loop.FileDescriptorSource

    init() throws {
        let thread = try LoopThread(name: "worker")
        self.thread = thread
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw NoPipe() }
        let writingEnd = ends[1]
        let passes = LoopBound(0, on: thread.loop)
        unread = try Loop.FileDescriptorSource(owning: ends[0]) { source, _ in
            // It does not read. After many passes the story invalidates the source. Not before do the timers begin,
            // which would come between these passes.
            passes.value += 1
            guard passes.value == 150 else { return }
            source.invalidate()
            let slow = Loop.Timer(every: .milliseconds(25), label: "slow") { _ in spend(.milliseconds(12)) }
            // Due while the slow one works.
            let late = Loop.Timer(after: .milliseconds(54), repeating: .milliseconds(50), label: "late") { _ in }
            for timer in [slow, late] { Loop.current.add(timer, in: .default) }
            Loop.current.perform(after: .milliseconds(240), label: "post the block") {
                Mistakes.post(100) {
                    // Until then the late timer has been late often enough.
                    Loop.current.perform(after: .milliseconds(360), label: "stop") { thread.stop() }
                }
            }
        }
        _ = write(writingEnd, "unread", 6)
        close(writingEnd)
        unread.label = "unread pipe"
    }

    func begin() {
        let adding = thread.perform(after: .milliseconds(10)) { [self] in thread.loop.add(unread, in: .default) }
        adding?.label = "add the pipe"
    }

    /// Posts a block that does the same, so many times.
    private static func post(_ times: Int, then finish: @escaping @Sendable () -> Void) {
        guard times > 0 else { return finish() }
        Loop.current.perform(label: "endless") { post(times - 1, then: finish) }
    }
}

private struct NoPipe: Error, CustomStringConvertible {
    let description = "pipe: \(String(cString: strerror(errno)))"
}

/// Keeps the thread busy, as work would.
private func spend(_ duration: Duration) {
    let end = Loop.Instant.now + duration
    while Loop.Instant.now < end {}
}
