import Foundation

/// Measures RunLoopKit beside what is not in the toolchain: libuv, libevent, GLib, SwiftNIO, OpenCombine,
/// AsyncAlgorithms.
///
/// Usage: Peers [SCENARIO...] [--quick] [--format json] [--list] [--versions]
///
/// (`Peers echo-client` is the other process of the scenarios with a server.)
@main
struct Peers {
    static let scenarios: [any Scenario] =
        [
            PassBesidePeers(), RoundTripBesidePeers(), PipeBesidePeers(),
            PostsFromThreads("posts", producers: 1, others: PeerSinks.all),
            PostsFromThreads("posts-4-producers", producers: 4, others: PeerSinks.all),
            PostsFromThreads("post-flood", producers: 1, flood: true, others: PeerSinks.all),
            PostsFromThreads("post-flood-4-producers", producers: 4, flood: true, others: PeerSinks.all),
            PostToIdleLoop(others: PeerSinks.all), PostsFromLoopsOfPeers(),
            ready(1, of: 1), ready(1, of: 100), ready(1, of: 9_000), ready(100, of: 100), ready(1_000, of: 1_000),
            ready(1_000, of: 9_000),
            TimersBesidePeers("timer-replaced-1k", .replaced, 1_000),
            TimersBesidePeers("timer-replaced-100k", .replaced, 100_000),
            TimersBesidePeers("timer-replaced-1m", .replaced, 1_000_000),
            TimersBesidePeers("timer-retimed-1k", .retimed, 1_000),
            TimersBesidePeers("timer-retimed-100k", .retimed, 100_000),
            TimersBesidePeers("timer-retimed-1m", .retimed, 1_000_000), PoolJobs(others: { [NIOPool()] }),
            EchoServers(.unix, connections: 1), EchoServers(.unix, connections: 1_000),
            EchoServers(.tcp, connections: 1), EchoServers(.tcp, connections: 1_000),
            TimerAccuracy(others: TickingPeers.all),
            ManyTimers(others: ManyTimersOfPeers.all), MillionTimers(), RateLimitBesidePeers(),
        ] + hosts + executors

    private static func ready(_ count: Int, of total: Int) -> any Scenario {
        ReadyDescriptors(count, of: total, others: ReadyOfPeers.all(total: total))
    }

    private static var hosts: [any Scenario] {
        #if canImport(CGLib)
            [HostedPost(), HostedRoundTrip()]
        #else
            []
        #endif
    }

    private static var executors: [any Scenario] {
        #if PLATFORM_EXECUTORS
            [ExecutorHop(others: [PlatformHome.maker]), ExecutorBurst(others: [PlatformHome.maker])]
        #else
            []
        #endif
    }

    private static let usage = """
        Measures RunLoopKit beside other libraries.

        Peers [SCENARIO ...] [--quick] [--format json]

          --list      prints the scenarios' names
          --versions  prints what is measured
          --quick     a few operations each
        """

    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        if words.first == EchoClient.command { return EchoClient.main(Array(words.dropFirst())) }
        if words.contains("--help") { return print(usage) }
        if words.contains("--versions") { return print(Versions.all.joined(separator: "\n")) }
        let names = words.filter { word in scenarios.contains { $0.name == word } }
        if let unknown = words.first(where: {
            !names.contains($0) && !["--quick", "--list", "--format", "json"].contains($0)
        }) {
            FileHandle.standardError.write(Data("Peers: unknown word \(unknown.debugDescription)\n".utf8))
            exit(64)
        }
        for scenario in scenarios where names.isEmpty || names.contains(scenario.name) {
            if words.contains("--list") {
                print(scenario.name)
                continue
            }
            let outcome = try scenario.run(words.contains("--quick") ? .quick : .full)
            Progress.clear()
            print(words.contains("json") ? JSONReport.text(outcome) : TextReport.text(outcome), terminator: "")
            // A scenario at a time, also into a pipe.
            fflush(nil)
        }
    }
}

extension Operation {
    /// An operation on a thread of its own.
    func onThread(_ name: String) throws -> ThreadOperation {
        try ThreadOperation(name) { try self.prepare(.current) }
    }
}
