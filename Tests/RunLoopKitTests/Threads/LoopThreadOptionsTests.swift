import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// The kernel settings that a LoopThread requests, as the kernel reports them.
@Suite(.timeBound) struct LoopThreadOptionsTests {
    typealias Options = LoopThread.Options

    private func facts(_ thread: LoopThread) throws -> KernelThread {
        try thread.performAndWait { KernelThread.current }
    }

    /// The error that making a thread with these options throws.
    private func refusal(_ options: Options) -> LoopError? {
        do throws(LoopError) {
            _ = try LoopThread(options: options)
            return nil
        } catch {
            return error
        }
    }

    /// A CPU that no machine has, although a kernel could be built for its number.
    private let missingCPU = 8191

    // MARK: Granted

    @Test("A thread without options keeps the defaults")
    func noOptions() throws {
        let plain = try facts(LoopThread())
        let thread = try LoopThread(options: .init())
        #expect(thread.name == "RunLoopKit" && thread.refusedOptions.isEmpty)
        #expect(try facts(thread) == plain)
        #expect(try thread.performAndWait { Kernel.threadName } == "RunLoopKit")
    }

    @Test("A thread has the given name and stack size")
    func nameAndStackSize() throws {
        let thread = try LoopThread(options: .init(name: "with options", stackSize: 1 << 20))
        #expect(try thread.performAndWait { Kernel.threadName } == "with options")
        // The C library may reuse the larger stack of a thread that has ended. So this asks for more than any thread
        // has by default.
        let byDefault = try LoopThread().performAndWait { KernelThread.stackSize }
        let wanted = byDefault * 8
        #expect(
            try LoopThread(options: .init(stackSize: wanted)).performAndWait { KernelThread.stackSize } >= wanted)
        #expect(
            try LoopThread(stackSize: wanted * 8).performAndWait { KernelThread.stackSize } >= wanted * 8)
    }

    @Test("A nice value concerns the thread alone")
    func niceValue() throws {
        let bystander = try LoopThread()
        let before = try facts(bystander).nice
        let nicer = min(before + 5, 19)
        #expect(try facts(LoopThread(options: .init(nice: nicer))).nice == nicer)
        #expect(try facts(LoopThread(options: .init(nice: 19))).nice == 19)
        #expect(try facts(bystander).nice == before)
    }

    @Test("A thread runs on the given CPUs only")
    func affinity() throws {
        let all = try facts(LoopThread()).cpus
        for cpu in all { #expect(try facts(LoopThread(options: .init(cpus: [cpu]))).cpus == [cpu]) }
        #expect(try facts(LoopThread(options: .init(cpus: all))).cpus == all)
    }

    @Test("A thread has the scheduling policies that need no permission")
    func policies() throws {
        for (scheduling, number) in [(LoopThread.Scheduling.normal, 0), (.batch, 3), (.idle, 5)] {
            let thread = try facts(LoopThread(options: .init(scheduling: scheduling)))
            #expect(thread.policy == number && thread.realtimePriority == 0)
        }
    }

    /// Usually granted to root and refused to others: in both cases the thread runs and reports the result.
    @Test(
        "Real-time policies are granted or reported",
        arguments: [
            (LoopThread.Scheduling.fifo(priority: 7), 1, 7, "SCHED_FIFO, 7"),
            (.roundRobin(priority: 1), 2, 1, "SCHED_RR, 1"),
        ])
    func realtimePolicies(_ scheduling: LoopThread.Scheduling, _ policy: Int, _ priority: Int, _ name: String) throws {
        let thread = try LoopThread(options: .init(scheduling: scheduling, onRefusal: .runAnyway))
        let found = try facts(thread)
        if let refusal = thread.refusedOptions.first {
            #expect(found.policy == 0 && thread.refusedOptions.count == 1)
            #expect("\(refusal)".hasPrefix("sched_setscheduler(\(name)): Operation not permitted (EPERM); it takes"))
        } else {
            #expect(found.policy == policy && found.realtimePriority == priority)
        }
    }

    @Test("A thread has the given timer slack")
    func timerSlack() throws {
        #expect(try facts(LoopThread(options: .init(timerSlack: .microseconds(1500)))).timerSlack == 1_500_000)
        // To the kernel, zero means the default.
        #expect(try facts(LoopThread(options: .init(timerSlack: .zero))).timerSlack == 1)
        #expect(try facts(LoopThread(options: .init(timerSlack: .seconds(Int64.max)))).timerSlack == .max)
    }

    @Test("Threads inherit the settings that they do not set")
    func inheritedSettings() throws {
        let cpu = try #require(try facts(LoopThread()).cpus.first)
        let parent = try LoopThread(
            options: .init(nice: 19, cpus: [cpu], scheduling: .batch, timerSlack: .microseconds(77)))
        let child = try parent.performAndWait { try LoopThread() }
        let expected = KernelThread(nice: 19, policy: 3, realtimePriority: 0, cpus: [cpu], timerSlack: 77_000)
        #expect(try facts(parent) == expected)
        #expect(try facts(child) == expected)
    }

    @Test("Options are set before the loop runs")
    func beforeTheLoopRuns() throws {
        // In virtual time too.
        let thread = try LoopThread(options: .init(name: "both", nice: 19), clock: VirtualClock())
        let first = Log<Int>()
        thread.perform(after: .seconds(1000)) { first.add(KernelThread.current.nice) }
        spin(until: !first.entries.isEmpty)
        #expect(first.entries == [19])
    }

    // MARK: Refused

    @Test("A CPU that does not exist is refused")
    func cpuThatDoesNotExist() throws {
        let own = try #require(try facts(LoopThread()).cpus.first)
        let text = "sched_setaffinity(CPU \(missingCPU)): Invalid argument (EINVAL); see Cpus_allowed_list"
        #expect("\(try #require(refusal(.init(cpus: [missingCPU]))))".hasPrefix(text))
        // Numbers for which the kernel has no bit at all.
        #expect(refusal(.init(cpus: [1 << 20]))?.call == "sched_setaffinity(CPU 1048576)")
        #expect(refusal(.init(cpus: [own, .max]))?.call == "sched_setaffinity(CPU \(own), \(Int.max))")
        // The kernel would have silently used one of the two.
        #expect(refusal(.init(cpus: [own, missingCPU]))?.call == "sched_setaffinity(CPU \(own), \(missingCPU))")
    }

    @Test("If allowed, a thread runs without the refused options")
    func toleratedRefusal() throws {
        let all = try facts(LoopThread()).cpus
        let thread = try LoopThread(
            options: .init(name: "anyway", nice: 19, cpus: [missingCPU], timerSlack: .zero, onRefusal: .runAnyway))
        #expect(thread.refusedOptions.map(\.call) == ["sched_setaffinity(CPU \(missingCPU))"])
        let found = try facts(thread)
        #expect(found.cpus == all && found.nice == 19 && found.timerSlack == 1)
        // The existing ones of several CPUs are used.
        let own = try #require(all.first)
        let half = try LoopThread(options: .init(cpus: [own, missingCPU], onRefusal: .runAnyway))
        #expect(half.refusedOptions.count == 1)
        #expect(try facts(half).cpus == [own])
    }

    // MARK: Never valid

    private static let invalid: [(Options, String)] = [
        (Options(nice: -21), "setpriority(-21): Invalid argument (EINVAL); nice values go from -20 to 19"),
        (Options(nice: 20), "setpriority(20): "), (Options(nice: .max), "setpriority("),
        (Options(cpus: []), "sched_setaffinity(no CPU): "),
        (Options(cpus: [0, -1]), "sched_setaffinity(CPU -1, 0): "),
        (Options(scheduling: .fifo(priority: 0)), "sched_setscheduler(SCHED_FIFO, 0): "),
        (Options(scheduling: .fifo(priority: 100)), "sched_setscheduler(SCHED_FIFO, 100): "),
        (Options(scheduling: .roundRobin(priority: .max)), "sched_setscheduler(SCHED_RR, "),
        (Options(timerSlack: .nanoseconds(-1)), "prctl(PR_SET_TIMERSLACK, "),
        (Options(stackSize: -1), "pthread_attr_setstacksize(-1): "),
    ]

    @Test("Values that are never valid always throw", arguments: invalid)
    func invalidValues(_ options: Options, _ text: String) throws {
        var options = options
        for onRefusal in [LoopThread.Refusal.fail, .runAnyway] {
            options.onRefusal = onRefusal
            let error = try #require(refusal(options))
            #expect("\(error)".hasPrefix(text) && "\(error)".contains("Invalid argument (EINVAL); "))
        }
    }

    @Test("A stack that cannot be allocated always throws")
    func impossibleStack() throws {
        let small = try #require(refusal(.init(stackSize: 17, onRefusal: .runAnyway)))
        #expect("\(small)".hasPrefix("pthread_attr_setstacksize(17): Invalid argument (EINVAL); give at least "))
        // More than any address space has.
        let huge = try #require(refusal(.init(stackSize: 1 << 60, onRefusal: .runAnyway)))
        #expect(huge.call == "pthread_create with a stack of \(1 << 60) bytes" && huge.advice != nil)
        #expect(refusal(.init(stackSize: .max))?.call == "pthread_create with a stack of \(Int.max) bytes")
    }
}
