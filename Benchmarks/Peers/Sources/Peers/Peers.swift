import Foundation

/// Measures RunLoopKit beside what is not in the toolchain: libuv, libevent, GLib, SwiftNIO, OpenCombine,
/// AsyncAlgorithms.
///
/// Usage: Peers [SCENARIO...] [--quick] [--format json] [--list]
@main
struct Peers {
    static let scenarios: [any Scenario] =
        [
            PassBesidePeers(), RoundTripBesidePeers(), PipeBesidePeers(),
            PostsFromThreads("posts", producers: 1, others: PeerSinks.all),
            PostsFromThreads("posts-4-producers", producers: 4, others: PeerSinks.all),
            PostToIdleLoop(others: PeerSinks.all), PostsFromLoopsOfPeers(),
            TimersBesidePeers("timer-churn", 1_000), TimersBesidePeers("timer-churn-100k", 100_000),
            TimersBesidePeers("timer-churn-1m", 1_000_000), TimerAccuracy(others: TickingPeers.all),
            ManyTimers(others: ManyTimersOfPeers.all), MillionTimers(), RateLimitBesidePeers(),
        ] + hosts + executors

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

    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
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
