import Foundation
import NIOCore
import NIOPosix

/// A loop's own thread posts blocks to its loop: many at once, or each block the next one.
struct PostsFromLoopsOfPeers: Scenario {
    let name = "posts-from-loop"
    let summary = "100 blocks posted to a loop by its own thread: at once, or each by the one before."

    func run(_ effort: Effort) throws -> Outcome {
        let (effort, repetitions) = (effort.short, 100)
        // The operations bring their own loops' threads; a peer's loop runs already.
        let kit = { (name: String, operation: String) in
            try ThreadOperation(name, repetitions: repetitions) { try Operation.named(operation).prepare(.current) }
        }
        let peers = [ListSink()] + (try PeerSinks.all()).filter { !$0.name.hasPrefix(Outcome.kit) }
        let subjects: [any OperationSubject] =
            [try kit(Outcome.kit, "post-batch"), try kit("RunLoopKit, chain", "post-chain")]
            + peers.flatMap {
                [
                    PostsToItself("\($0.name), batch", $0, repetitions, chain: false),
                    PostsToItself("\($0.name), chain", $0, repetitions, chain: true),
                ]
            }
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times \(repetitions) blocks",
            rows: subjects.measured(name, effort), bare: "list, batch",
            notes: ["Every figure is for \(repetitions) blocks. \(Outcome.kit): a batch."])
    }
}

private final class PostsToItself: OperationSubject, @unchecked Sendable {
    let name: String
    private let sink: any Sink
    private let repetitions: Int
    private let isChain: Bool
    private let isOver = DispatchSemaphore(value: 0)
    // Accessed by blocks, and while none runs.
    private var left = 0
    private var elapsed: Int64 = 0
    private var block: @Sendable () -> Void = {}

    init(_ name: String, _ sink: any Sink, _ repetitions: Int, chain: Bool) {
        (self.name, self.sink, self.repetitions, isChain) = (name, sink, repetitions, chain)
        block = { [unowned(unsafe) self] in ran() }
    }

    func measure(_ count: Int) -> Int64 {
        left = count * repetitions
        sink.post { [self] in
            elapsed = monotonicNow()
            if isChain { sink.post(block) } else { for _ in 0..<left { sink.post(block) } }
        }
        isOver.wait()
        return elapsed
    }

    private func ran() {
        left -= 1
        if left == 0 {
            elapsed = monotonicNow() - elapsed
            isOver.signal()
        } else if isChain {
            sink.post(block)
        }
    }
}
