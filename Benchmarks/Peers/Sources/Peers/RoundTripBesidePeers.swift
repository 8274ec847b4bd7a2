import Foundation

/// Two loops post blocks to each other, each on a thread that sleeps in between.
struct RoundTripBesidePeers: Scenario {
    let name = "wake-round-trip"
    let summary = "Two loops post to each other in turn."

    func run(_ effort: Effort) throws -> Outcome {
        let bare = Responder<EdgeSignal>()
        // Two of each.
        let (near, far) = (try sinks(), try sinks())
        let subjects: [any OperationSubject] =
            [BareRoundTrip(bare)] + zip(near, far).map { RoundTrip($0, $1) }
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) round trips",
            rows: subjects.measured(name, effort), bare: "eventfd, edge")
    }

    private func sinks() throws -> [any Sink] {
        [ListSink(), try KitSink(), try KitMessageSink(), DispatchSink(), CFSink()] + (try PeerSinks.all())
    }
}

private final class BareRoundTrip: OperationSubject {
    let name = "eventfd, edge"
    private let responder: Responder<EdgeSignal>

    init(_ responder: Responder<EdgeSignal>) { self.responder = responder }

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { responder.ask() }
        return monotonicNow() - start
    }
}

final class RoundTrip: OperationSubject, @unchecked Sendable {
    let name: String
    private let near: any Sink
    private let far: any Sink
    private var ping: @Sendable () -> Void = {}
    private var pong: @Sendable () -> Void = {}
    private var left = 0
    private let isOver = DispatchSemaphore(value: 0)

    init(_ near: any Sink, _ far: any Sink) {
        (name, self.near, self.far) = (near.name, near, far)
        ping = { [unowned(unsafe) self] in pinged() }
        pong = { [unowned(unsafe) self] in self.near.post(ping) }
    }

    func measure(_ count: Int) -> Int64 {
        left = count
        let start = monotonicNow()
        far.post(pong)
        isOver.wait()
        return monotonicNow() - start
    }

    private func pinged() {
        left -= 1
        if left > 0 { far.post(pong) } else { isOver.signal() }
    }
}
