import CLinux
import Foundation

/// A block is posted to a loop whose thread sleeps: what the post costs, with the wake-up, and when the block runs.
struct PostToIdleLoop: Scenario {
    let name = "post-to-idle-loop"
    let summary = "A block posted by another thread to a loop that sleeps."
    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any Sink]

    init(others: @escaping @Sendable () throws -> [any Sink] = { [] }) { self.others = others }

    func run(_ effort: Effort) throws -> Outcome {
        let sinks: [any Sink] =
            [
                SignalSink<EdgeSignal>("eventfd, edge"), SignalSink<WordSignal>("futex word"), try KitSink(),
                try KitMessageSink(), DispatchSink(), CFSink(),
            ] + (try others())
        let subjects = sinks.map(IdlePost.init)
        let effort = effort.short
        var posts = subjects.map { _ in [IdlePost.Times]() }
        subjects.takingTurns(rounds: effort.operationRounds, name) { index, subject in
            // The subjects before it have filled the caches.
            _ = subject.post()
            for _ in 0..<effort.operationsPerRound { posts[index].append(subject.post()) }
        }
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) posts",
            rows: zip(subjects, posts).map { subject, posts in
                let (returned, ran) = (Samples(posts.map(\.returned)), Samples(posts.map(\.ran)))
                return Row(
                    subject.name,
                    [
                        .time("p50", returned.median), .time("p99", returned.percentile(99)),
                        .time("run-p50", ran.median),
                    ]
                )
            }, bare: "eventfd, edge",
            notes: [
                "p50, p99: until the call that posts returns. run-p50: until the block runs.",
                "Before each post the kernel reports that the loop's thread sleeps.",
            ])
    }
}

/// A thread that does nothing except wait for a signal. One block at a time is posted to it.
private final class SignalSink<Channel: Signal>: Sink, @unchecked Sendable {
    private final class Content: @unchecked Sendable { var block: @Sendable () -> Void = {} }

    let name: String
    private let content = Content()
    private let thread: Responder<Channel>

    init(_ name: String) {
        self.name = name
        thread = Responder { [content] in content.block() }
    }

    func post(_ block: @escaping @Sendable () -> Void) {
        content.block = block
        thread.begin()
    }
}

private final class IdlePost: Subject, @unchecked Sendable {
    /// The time from the call that posts until it returns, and until the block runs.
    typealias Times = (returned: Int64, ran: Int64)

    let name: String
    private let sink: any Sink
    private let isOver = DispatchSemaphore(value: 0)
    private var block: @Sendable () -> Void = {}
    // Written by the block; the semaphore orders the accesses.
    private var ranAt: Int64 = 0
    private var thread: pid_t = 0

    init(_ sink: any Sink) {
        (name, self.sink) = (sink.name, sink)
        block = { [unowned(unsafe) self] in
            ranAt = monotonicNow()
            thread = clinux_thread_id()
            isOver.signal()
        }
    }

    /// Posts a block when the thread that ran the last one sleeps.
    func post() -> Times {
        while thread != 0, !ThreadState.sleeps(thread) { sched_yield() }
        let start = monotonicNow()
        sink.post(block)
        let returned = monotonicNow()
        isOver.wait()
        return (returned - start, ranAt - start)
    }
}

private enum ThreadState {
    /// Whether a thread of this process sleeps. True for a thread that has ended: a pool starts another one.
    static func sleeps(_ thread: pid_t) -> Bool {
        let file = open("/proc/self/task/\(thread)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = read(file, &text, text.count)
        // The state is the letter after the name, which is in parentheses.
        guard count > 0, let end = text[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else { return true }
        return text[end + 2] == UInt8(ascii: "S")
    }
}
