import Foundation

/// Threads post blocks to a loop as fast as they can: some thousand, or a flood.
struct PostsFromThreads: Scenario {
    let name: String
    let producers: Int
    let isFlood: Bool
    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any Sink]

    var summary: String {
        let threads = producers == 1 ? "another thread" : "\(producers) threads"
        return "\(isFlood ? "100,000" : "5,000") blocks posted to a loop by \(threads)."
    }

    init(
        _ name: String, producers: Int, flood: Bool = false,
        others: @escaping @Sendable () throws -> [any Sink] = { [] }
    ) {
        self.name = name
        self.producers = producers
        isFlood = flood
        self.others = others
    }

    func run(_ effort: Effort) throws -> Outcome {
        // A hundred blocks count as one operation.
        let effort = isFlood ? effort.flood : effort.short
        var sinks: [any Sink] = [
            ListSink(), try KitSink(), try KitThreadSink(), try KitMessageSink(), DispatchSink(), CFSink(),
        ]
        if isFlood { sinks.append(try KitMainSink()) }
        sinks += try others()
        let subjects: [any OperationSubject] = sinks.map { Posts($0, producers) }
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times 100 blocks",
            rows: subjects.measured(name, effort), bare: "list",
            notes: [
                "Every figure is for 100 blocks, from the first post until the last block has run.",
                "list: a mutex, an array and a condition variable; the thread takes the whole array at once.",
            ])
    }
}

private final class Posts: OperationSubject {
    let name: String
    private let sink: any Sink
    private let work: Work
    private let producers: [Responder<ConditionSignal>]

    /// What the producers post, and when it is over.
    private final class Work: @unchecked Sendable {
        var postsOfEach = 0
        /// Accessed by blocks, which run one at a time.
        var left = 0
        let isOver = DispatchSemaphore(value: 0)
        private let stop: @Sendable () -> Void

        init(stop: @escaping @Sendable () -> Void) { self.stop = stop }

        func ran() {
            left -= 1
            guard left == 0 else { return }
            isOver.signal()
            stop()
        }
    }

    init(_ sink: any Sink, _ count: Int) {
        (self.name, self.sink) = (sink.name, sink)
        let work = Work { sink.stop() }
        self.work = work
        let block: @Sendable () -> Void = { work.ran() }
        producers = (0..<count).map { _ in
            Responder { for _ in 0..<work.postsOfEach { sink.post(block) } }
        }
    }

    func measure(_ count: Int) -> Int64 {
        work.postsOfEach = 100 * count / producers.count
        work.left = work.postsOfEach * producers.count
        let start = monotonicNow()
        for producer in producers { producer.begin() }
        sink.runUntilStopped()
        work.isOver.wait()
        let elapsed = monotonicNow() - start
        for producer in producers { producer.finish() }
        return elapsed
    }
}
