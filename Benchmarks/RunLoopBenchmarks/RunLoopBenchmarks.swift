import Foundation

/// Measures RunLoopKit beside its alternatives: bare system calls, CFRunLoop, Dispatch, Swift concurrency, threads.
///
/// Each scenario is a file named after what it measures. To add one, write it and put it into `scenarios`.
@main
struct RunLoopBenchmarks {
    static let name = "RunLoopBenchmarks"

    static let scenarios: [any Scenario] = [
        EmptyPass(), WakeRoundTrip(), RoundTripBetweenCPUs(), Source0Pass(), PortEvent(), PipeEvent(),
        PostsFromThreads("posts", producers: 1), PostsFromThreads("posts-4-producers", producers: 4), PostToIdleLoop(),
        PostsFromThreads("post-flood", producers: 1, flood: true),
        PostsFromThreads("post-flood-4-producers", producers: 4, flood: true), PostsFromLoop(),
        ReadyDescriptors(1, of: 1), ReadyDescriptors(100, of: 100), ReadyDescriptors(1_000, of: 1_000),
        TimerAccuracy(), ManyTimers(), TimerChurn("timer-replaced-1k", .replaced, 1_000),
        TimerChurn("timer-replaced-100k", .replaced, 100_000), TimerChurn("timer-retimed-1k", .retimed, 1_000),
        TimerChurn("timer-retimed-100k", .retimed, 100_000), KeepaliveJob(), PoolJobs(), ThreadStart(), ExecutorHop(),
        ExecutorBurst(),
        ActorAndTask(), MessageSequence(), MessageTurns(), RateLimitCall(), KeyedCall(), MethodCall(),
        DiagnosticsOverhead(), RealTimeLatency(), Memory(),
    ]

    // Not async: some scenarios use the initial thread as one of two threads.
    static func main() {
        allowDescriptors()
        do {
            let options = try CommandLineOptions(
                Array(CommandLine.arguments.dropFirst()), scenarios: scenarios.map(\.name),
                operations: Scale.operations.map(\.name))
            try run(options)
        } catch let error as UsageError {
            fail("\(error.message) (try '\(name) --help')", code: 64)
        } catch {
            fail("\(error)", code: 1)
        }
    }

    private static func run(_ options: CommandLineOptions) throws {
        switch options.action {
        case .help: write(CommandLineOptions.help(scenarios, Scale.operations))
        case .list: write(scenarios.map { "\($0.name)\n" }.joined())
        case .idle: IdleLoop.run { write($0) }
        case .measure(let names):
            warnOfDebugBuild()
            for scenario in scenarios where names.isEmpty || names.contains(scenario.name) {
                guard allowedCPUs().count >= scenario.neededCPUs else {
                    writeError("\(name): \(scenario.name) needs \(scenario.neededCPUs) CPUs\n")
                    continue
                }
                let outcome = try scenario.run(options.effort)
                Progress.clear()
                write(options.format == .json ? JSONReport.text(outcome) : TextReport.text(outcome))
            }
        case .scale(let names):
            warnOfDebugBuild()
            let chosen = Scale.operations.filter { names.isEmpty || names.contains($0.name) }
            let results = try chosen.map { try Scale.measure($0, options.effort) }
            Progress.clear()
            write(options.format == .json ? ScaleReport.json(results) : ScaleReport.text(results))
        }
    }

    private static func warnOfDebugBuild() {
        // Debug builds alone evaluate the condition of an assertion.
        assert(
            {
                writeError("\(name): built without optimisation, the figures mean little: use 'swift run -c release'\n")
                return true
            }())
    }

    private static func fail(_ message: String, code: Int32) -> Never {
        writeError("\(name): \(message)\n")
        exit(code)
    }

    private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
    private static func writeError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
