import Foundation

/// Threads post blocks to a loop as fast as they can.
struct PostsFromThreads: Scenario {
    let name: String
    let producers: Int
    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any Sink]

    var summary: String {
        "100 blocks posted to a loop by \(producers == 1 ? "another thread" : "\(producers) threads")."
    }

    init(_ name: String, producers: Int, others: @escaping @Sendable () throws -> [any Sink] = { [] }) {
        self.name = name
        self.producers = producers
        self.others = others
    }

    func run(_ effort: Effort) throws -> Outcome {
        let effort = effort.short
        let subjects: [any OperationSubject] =
            [
                Posts(ListSink(), producers), Posts(try KitSink(), producers), Posts(try KitMessageSink(), producers),
                Posts(DispatchSink(), producers), Posts(CFSink(), producers),
            ] + (try others().map { Posts($0, producers) })
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
    private let work = Work()
    private let producers: [Responder<ConditionSignal>]

    /// What the producers post, and when it is over.
    private final class Work: @unchecked Sendable {
        var postsOfEach = 0
        /// Accessed by blocks, which run one at a time.
        var left = 0
        let isOver = DispatchSemaphore(value: 0)

        func ran() {
            left -= 1
            if left == 0 { isOver.signal() }
        }
    }

    init(_ sink: any Sink, _ count: Int) {
        (self.name, self.sink) = (sink.name, sink)
        let work = work
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
        work.isOver.wait()
        let elapsed = monotonicNow() - start
        for producer in producers { producer.finish() }
        return elapsed
    }
}
