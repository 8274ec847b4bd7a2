// Programs that run for long: does memory, a descriptor, a thread or the latency grow? `--help` says what it plays.
//
// Each scenario is divided into windows of equal work. After each window, when nothing is left to do, it takes a
// sample; `Growth` says what the samples of the last quarter may be.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

// The C library counts what it keeps for each thread as handed out. It reads the variable before `main`.
if getenv("GLIBC_TUNABLES") == nil {
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
}
if CommandLine.arguments.dropFirst().first == Neighbour.word { Neighbour.burn() }

let options: Options
do throws(UsageError) {
    options = try Options(Array(CommandLine.arguments.dropFirst()))
} catch {
    complain("EnduranceProgram: \(error.message) (try 'EnduranceProgram --help')")
    exit(64)
}
guard !options.isHelp else {
    print(Options.help, terminator: "")
    exit(0)
}

let neighbour = Neighbour()
var holds = true
for scenario in options.scenarios {
    let outcome = Recorder(windows: options.windows, leak: options.leak).record(scenario, share: options.share)
    print(options.format == .json ? JSONReport.text(outcome) : TextReport.text(outcome))
    fflush(nil)
    if !outcome.faults.isEmpty { holds = false }
}
neighbour.end()
exit(holds ? 0 : 1)
