// Runs the threads of small programs one at a time, in every order with a few preemptions, or in random ones. At each
// lock, atomic access and system call of the library another thread may go on. Debug builds only: a release build has
// no such points.
//
//     ScheduleProgram                              lists the programs
//     ScheduleProgram exhaust BOUND LIMIT [NAME …]  every order with at most BOUND preemptions; 0: each program's own
//     ScheduleProgram random NAME SEED COUNT DEPTH orders by priorities
//     ScheduleProgram … --lose write               the same, but no eventfd is written; or no futex is woken: wake
//     ScheduleProgram … --releases                 a release with a lock held is a point, too, if it may be the last
//     ScheduleProgram random … --interrupts        at a few choices all waits end, as by a signal
//     ScheduleProgram stopped                      a thread is stopped for ever: see Habits.swift
//     ScheduleProgram replay NAME 12:1,40:0        one order: at choice 12 thread 1 goes on, at choice 40 thread 0
//
// What it finds ends the process, with the order that leads there. In `Scheduler` a thread never waits in the kernel,
// so the same order does the same each time.
#if DEBUG && !PLAIN_ATOMICS
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    // Swift's hashes, and so the order of its sets, differ in each process otherwise.
    if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        execv("/proc/self/exe", CommandLine.unsafeArgv)
    }
    ThreadEnd.prepare()
    // A report is made once only, so the next play would take another way.
    Loop.mistakeHandling = .ignore
    Findings.catchTraps()
    TaskThread.prepare()

    var arguments = Array(CommandLine.arguments.dropFirst())
    if let index = arguments.firstIndex(of: "--lose") {
        Loss.planted = Loss(rawValue: arguments[index + 1])!
        Findings.options += " --lose \(arguments[index + 1])"
        arguments.removeSubrange(index...index + 1)
    }

    if let index = arguments.firstIndex(of: "--releases") {
        Scheduler.makeReleasesPoints()
        Findings.options += " --releases"
        arguments.remove(at: index)
    }

    if let index = arguments.firstIndex(of: "--interrupts") {
        Explorer.interruptions = 4
        Findings.options += " --interrupts"
        arguments.remove(at: index)
    }

    func named(_ name: String) -> Program {
        guard let program = programs.first(where: { $0.name == name }) else { fatalError("no program \"\(name)\"") }
        return program
    }

    switch arguments.first {
    case "exhaust":
        let (bound, limit) = (Int(arguments[1])!, Int(arguments[2])!)
        let chosen = arguments.count > 3 ? arguments[3...].map(named) : programs
        for program in chosen {
            let result = Explorer(program).exhaust(bound: bound == 0 ? program.bound : bound, limit: limit)
            print(
                "\(program.name): \(result.executions) orders, at most \(result.longest) choices"
                    + (result.isComplete ? "" : ", not all") + (result.releases == 0 ? "" : ", with releases"))
        }
    case "random":
        let (seed, count) = (UInt64(arguments[2])!, UInt64(arguments[3])!)
        for program in arguments[1] == "all" ? programs : [named(arguments[1])] {
            let result = Explorer(program).playRandomly(seeds: seed..<seed + count, depth: Int(arguments[4])!)
            print("\(program.name): \(result.executions) random orders, at most \(result.longest) choices")
        }
    case "stopped": exit(playStopped() ? 0 : 1)
    case "replay":
        let switches = arguments[2].split(separator: ",").compactMap { text -> Switch? in
            let parts = text.split(separator: ":").compactMap { Int($0) }
            return parts.count == 2 ? Switch(index: parts[0], thread: parts[1]) : nil
        }
        Explorer(named(arguments[1])).replay(switches)
    default:
        for program in programs { print(program.name) }
    }
#else
    print("ScheduleProgram needs a debug build, without PLAIN_ATOMICS")
#endif
