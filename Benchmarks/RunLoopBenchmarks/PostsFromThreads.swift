import CoreFoundation
import Foundation
import RunLoopKit

/// Threads post blocks to a loop as fast as they can.
struct PostsFromThreads: Scenario {
    let name: String
    let producers: Int

    var summary: String {
        "100 blocks posted to a loop by \(producers == 1 ? "another thread" : "\(producers) threads")."
    }

    init(_ name: String, producers: Int) {
        self.name = name
        self.producers = producers
    }

    func run(_ effort: Effort) throws -> Outcome {
        let effort = effort.short
        let subjects: [any OperationSubject] = [
            Posts(ListSink(), producers), Posts(try KitSink(), producers), Posts(try KitMessageSink(), producers),
            Posts(DispatchSink(), producers), Posts(CFSink(), producers),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times 100 blocks",
            rows: subjects.measured(name, effort), bare: "list",
            notes: [
                "Every figure is for 100 blocks, from the first post until the last block has run.",
                "list: a mutex, an array and a condition variable; the thread takes the whole array at once.",
            ])
    }
}

/// Where blocks run, one at a time.
private protocol Sink: AnyObject, Sendable {
    var name: String { get }
    func post(_ block: @escaping @Sendable () -> Void)
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

/// A thread that takes blocks from an array: the least that a loop without other inputs does.
private final class ListSink: Sink, @unchecked Sendable {
    let name = "list"
    private let state: State
    private let thread: PlainThread

    private final class State: @unchecked Sendable {
        private let condition = NSCondition()
        private var blocks: [@Sendable () -> Void] = []
        var isOver = false

        func append(_ block: @escaping @Sendable () -> Void) {
            condition.lock()
            blocks.append(block)
            if blocks.count == 1 { condition.signal() }
            condition.unlock()
        }

        /// Waits for blocks. `spare`, which is empty, becomes the list.
        func take(_ spare: inout [@Sendable () -> Void]) {
            condition.lock()
            while blocks.isEmpty { condition.wait() }
            swap(&spare, &blocks)
            condition.unlock()
        }
    }

    init() {
        let state = State()
        self.state = state
        thread = PlainThread {
            var blocks: [@Sendable () -> Void] = []
            while !state.isOver {
                state.take(&blocks)
                for block in blocks { block() }
                blocks.removeAll(keepingCapacity: true)
            }
        }
    }

    deinit {
        state.append { [state] in state.isOver = true }
        thread.join()
    }

    func post(_ block: @escaping @Sendable () -> Void) { state.append(block) }
}

private final class KitSink: Sink {
    let name = Outcome.kit
    private let thread: LoopThread

    init() throws { thread = try LoopThread(name: "sink") }

    func post(_ block: @escaping @Sendable () -> Void) { thread.loop.perform(block) }
}

/// The block itself is the message.
private final class KitMessageSink: Sink {
    let name = "RunLoopKit, MessagePort"
    private let thread: LoopThread
    private let port = Loop.MessagePort<@Sendable () -> Void> { $0() }

    init() throws {
        thread = try LoopThread(name: "sink")
        thread.loop.add(port)
    }

    func post(_ block: @escaping @Sendable () -> Void) { port.send(block) }
}

private final class DispatchSink: Sink {
    let name = "Dispatch"
    private let queue = DispatchQueue(label: "sink")

    func post(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }
}

private final class CFSink: Sink {
    let name = "CFRunLoop"
    private let thread = CFThread()

    func post(_ block: @escaping @Sendable () -> Void) { thread.perform(block) }
}
