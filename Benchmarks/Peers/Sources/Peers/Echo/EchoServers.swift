import Foundation

/// A server sends each message back. The clients are one thread of a process of their own, and each connection sends
/// its next message when it has got the last one back.
struct EchoServers: Scenario {
    let name: String
    let transport: EchoSocket.Transport
    let connections: Int

    var summary: String { "A server sends messages of 64 bytes back, over \(transport), \(connections) connections." }

    init(_ transport: EchoSocket.Transport, connections: Int) {
        name = "echo-\(transport)-\(connections)"
        (self.transport, self.connections) = (transport, connections)
    }

    func run(_ effort: Effort) throws -> Outcome {
        EchoSocket.allowDescriptors()
        let rounds = max(1, effort.operationRounds / 8)
        let requests = effort.operationsPerRound * (connections == 1 ? 20 : 60)
        let subjects = try EchoSubject.all(transport)
        var costs = subjects.map { _ in [Int64]() }
        var slowest = costs
        subjects.takingTurns(rounds: rounds, name) { index, subject in
            let answer = EchoClient.run(transport, subject.address, connections: connections, requests: requests)
            costs[index].append(answer.mean)
            slowest[index].append(answer.p99)
        }
        for subject in subjects { subject.remove() }
        return Outcome(
            scenario: name, title: "\(rounds) rounds of \(requests) requests, \(connections) connections",
            rows: subjects.indices.map { index in
                Row(
                    subjects[index].name,
                    [.time("p50", Samples(costs[index]).median), .time("p99", Samples(slowest[index]).median)])
            }, bare: "epoll, level",
            notes: [
                "p50: the time of a round by its requests, so 10⁹ by it are the requests a second. "
                    + "p99: of one request; the median of the rounds.",
                "libuv: its streams. libevent: events, no buffers of its own.",
            ])
    }
}

/// A server, and where it listens.
private final class EchoSubject {
    let name: String
    let address: String
    private let transport: EchoSocket.Transport

    private init(_ name: String, _ transport: EchoSocket.Transport, start: (Int32) throws -> Void) throws {
        (self.name, self.transport) = (name, transport)
        let (descriptor, address) = EchoSocket.listen(transport)
        self.address = address
        try start(descriptor)
    }

    /// The clients of a later scenario find a server of their own.
    func remove() { if transport == .unix { unlink(address) } }

    /// Their threads live until the process ends.
    static func all(_ transport: EchoSocket.Transport) throws -> [EchoSubject] {
        var subjects = [
            try EchoSubject("epoll, level", transport, start: BareEcho.start),
            try EchoSubject(Outcome.kit, transport, start: KitEcho.start),
            try EchoSubject("SwiftNIO", transport, start: NIOEcho.start),
        ]
        #if canImport(CLibUV)
            subjects.append(try EchoSubject("libuv", transport) { UVEcho.start($0, transport) })
        #endif
        #if canImport(CLibEvent)
            subjects.append(try EchoSubject("libevent", transport, start: EventEcho.start))
        #endif
        return subjects
    }
}
