// Signal sources, in a process whose signals and threads are its own. The argument names a scenario; the program prints
// the events.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

let loop = Loop.current

// The parent process may have blocked signals, and blocked signals are inherited.
var none = sigset_t()
pthread_sigmask(SIG_SETMASK, &none, nil)

switch CommandLine.arguments.dropFirst().first {
case "arrives": try arrives()
case "kinds": try kinds()
case "several": try several()
case "oneSource": try oneSource()
case "comesAgain": try comesAgain()
case "servedBefore": try servedBefore()
case "lastMoment": try lastMoment()
case "tracedChild": try tracedChild()
case "tracer":
    let numbers = CommandLine.arguments.dropFirst(2).compactMap { Int32($0) }
    tracer(of: numbers[0], says: numbers[1], heeds: numbers[2])
case "realTime": try realTimeSignals()
case "two": try twoSources()
case "bounded": try bounded()
case "effects": try effects()
case "notAddedYet": try notAddedYet()
case "anyThread": try anyThread()
case "blockedEverywhere": try blockedEverywhere()
case "restartedCalls": try restartedCalls()
case "contended": try contended()
case "fault": try fault(CommandLine.arguments[2])
case "forked": try forked()
case "numbers": numbers()
case "restarts": try restarts()
case "withoutInitialThread": try withoutInitialThread()
case "toOneThread": try toOneThread()
case "alternateStack": try alternateStack()
case "waitedFor": try waitedFor()
case "hosted": try hosted()
case "terminated": try terminated()
case "terminatedByFoundation": try terminatedByFoundation()
case "children": try children()
case "isolated": try isolated()
case "ignoredChildren": try ignoredChildren()
case "afterTheEnd":
    try makeSource("never").invalidate()
    print("without a source")
    fflush(nil)
    send(SIGUSR1)
    print("not reached")
default: exit(64)
}
