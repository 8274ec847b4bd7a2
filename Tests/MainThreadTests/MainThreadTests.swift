import ProgramSupport
import RunLoopKit
import TestSupport
import Testing

/// Programs with main threads of their own: the main loop, the main dispatch queue and the main actor.
@Suite(.timeBound) struct MainThreadTests {
    /// Plays the scenarios of MainQueueProgram on one side. LeakSanitizer ignores leaks of CFRunLoop.
    private func play(_ side: String, moment: String) throws -> Program {
        try Program.run(
            "MainQueueProgram", [side, moment], environment: side == "cf" ? ["ASAN_OPTIONS": "detect_leaks=0"] : [:])
    }

    @Test("The main loop serves the main queue as CFRunLoop does")
    func mainQueueAsInCFRunLoop() throws {
        var (expected, actual) = (try play("cf", moment: "0.05"), try play("kit", moment: "0.05"))
        // Both sides play in real time: as in ConformanceTests, they get longer moments before the test fails.
        for moment in ["0.2", "1"] where actual.output != expected.output {
            expected = try play("cf", moment: moment)
            actual = try play("kit", moment: moment)
        }
        #expect(actual.status == 0 && expected.status == 0)
        #expect(!actual.output.contains("wrong thread") && actual.output.contains("queue 1"))
        #expect(actual.lines == expected.lines)
    }

    @Test("A program with only the main loop stays alive for the queue", arguments: ["stay", "prepared"])
    func mainLoopStaysAlive(_ argument: String) throws {
        let program = try Program.run("MainQueueProgram", [argument])
        #expect(program.status == 0)
        #expect(program.lines == ["sync on main: true", "main actor: true", "main actor again: true", "stopped"])
    }

    @Test("The laws of the main queue hold after every random program")
    func randomPrograms() throws {
        let program = try Program.run("MainLoopProgram", ["1", "600"])
        #expect(program.status == 0 && program.lines.last == "all laws held", "\(program.lines.suffix(60))")
    }

    @Test("A program that uses neither Dispatch nor Swift concurrency runs")
    func plainProgram() throws {
        let program = try Program.run("PlainProgram", [])
        #expect(program.status == 0 && program.lines == ["source", "finished"])
    }

    @Test("Main actor code runs under the main loop of a top-level program")
    func topLevelProgram() throws {
        let program = try Program.run("TopLevelProgram", [])
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "main actor: true, 3 ticks", "slept, back on the main thread: true", "an actor on the main loop: true",
                "ticked, on the main thread: true", "a preference for the main loop: true", "stopped",
                "a set has ended, in a run: true", "stopped again",
            ])
    }

    @Test("Main actor code runs under the main loop of a synchronous main")
    func synchronousMain() throws {
        let program = try Program.run("SyncMainProgram", [])
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "hello one, on the main thread: true", "hello two, on the main thread: true", "2 greetings",
            ])
    }

    @Test("The main loop off the initial thread traps and says what to do")
    func mainLoopOffMainThread() throws {
        // The test needs no backtrace.
        let program = try Program.run("AsyncMainProgram", [], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == -1)
        #expect(program.errors.contains("Loop.main.run was called on a thread that is not the process's initial one"))
        #expect(program.errors.contains("without 'async'"))
    }

    // MARK: Hosts

    @Test("A host of the main loop serves timers, the main queue and the main actor", arguments: ["loop", "edges"])
    func hostOfTheMainLoop(_ trigger: String) throws {
        let program = try Program.run("HostProgram", [trigger])
        #expect(program.status == 0)
        #expect(program.lines == ["timer", "async", "sync", "main actor", "main actor again", "quiet: true"])
    }

    @Test("A host written as in C needs one descriptor and one function")
    func hostInC() throws {
        let program = try Program.run("HostProgram", ["callback"])
        #expect(program.status == 0)
        #expect(program.lines == ["async", "sync", "main actor", "main actor again", "host ends"])
    }

    @Test("A host of the main queue alone serves it in order and does not spin", arguments: ["queue", "queue-edges"])
    func hostOfTheMainQueue(_ trigger: String) throws {
        let program = try Program.run("HostProgram", [trigger])
        #expect(program.status == 0)
        #expect(program.lines.prefix(4) == ["async", "sync", "main actor", "main actor again"])
        // libdispatch may or may not drain the next job together with the one that posted it.
        let turns = program.lines.dropFirst(4)
        #expect(turns.count == 4 && turns.first == "job begins" && Array(turns.suffix(2)) == ["next job", "quiet"])
        #expect(
            turns.contains("job ends, the host was woken 0 times")
                || turns.contains("job ends, the host was woken 1 times"))
    }

    @Test("The main queue is served before anything has asked for its descriptor")
    func queueIsServedFirst() throws {
        let program = try Program.run("HostProgram", ["queue-first"])
        #expect(program.status == 0 && program.lines == ["job", "served"])
    }

    @Test("Jobs that arrive while a job runs the host are served after it")
    func jobsWhileAJobRunsTheHost() throws {
        let program = try Program.run("HostProgram", ["within"])
        #expect(program.status == 0)
        #expect(program.lines == ["port", "job ends", "next job", "job ends", "last job", "quiet"])
    }

    @Test("An edge of the main queue that a host sees in a mode that is not common is not lost")
    func edgeInAnUncommonMode() throws {
        let program = try Program.run("HostProgram", ["not-common"])
        #expect(program.status == 0)
        #expect(program.lines == ["not served", "job", "quiet"])
    }

    @Test("A mode's edge of the main queue is not lost because a run in another mode was about to serve the queue")
    func edgeThatAnotherModeWasToServe() throws {
        let program = try Program.run("HostProgram", ["served-elsewhere"])
        #expect(program.status == 0)
        #expect(program.lines == ["timer", "job", "stopped"])
    }

    // MARK: Time bases

    @Test("Timers count on the clock of their time base")
    func timeBases() throws {
        // A clock that is 11 days ahead of the other, as after a long suspend.
        let program = try Program.run(
            "/usr/bin/env",
            [
                "unshare", "--user", "--time", "--monotonic", "0", "--boottime", "1000000",
                Program.url(of: "TimeBaseProgram").path,
            ])
        guard !program.errors.contains("unshare") else {
            print("timeBases: skipped, since a time namespace is not permitted here: \(program.errors)")
            return
        }
        #expect(program.status == 0)
        #expect(program.lines.first.flatMap { Int($0.dropFirst("ahead: ".count)) }.map { $0 >= 1_000_000 } == true)
        #expect(
            program.lines.dropFirst() == [
                "suspending, by a delay: due", "suspending, at a time: due", "suspending, next in an hour: true",
                "suspending, moved: due", "suspending, repeating: due",
                "continuous, by a delay: due", "continuous, at a time: due", "continuous, next in an hour: true",
                "continuous, moved: due", "continuous, repeating: due",
                "suspending, a clock for it: true", "suspending, a task: due",
                "continuous, a clock for it: true", "continuous, a task: due", "hosted: due",
                "the host may sleep: true",
            ])
    }

    // MARK: A main loop that no thread can run

    // dispatchMain() abandons the frames of the initial thread, which AddressSanitizer takes for alive when that ends.
    @Test(
        "A main loop whose thread was given away refuses work and says so", .disabled(if: isUnderAddressSanitizer))
    func mainThreadGivenAway() throws {
        let program = try Program.run("HostProgram", ["given-away"])
        #expect(program.lines == ["accepted: true", "refused"])
        #expect(program.errors.contains("Loop.main was given work that never runs"))
        #expect(program.errors.contains("dispatchMain()"))
        #expect(program.errors.contains("Let the program begin with Loop.runMain { … }"))
    }

    @Test(
        "Work that a main loop accepted before its thread was given away is not dropped silently",
        .disabled(if: isUnderAddressSanitizer))
    func acceptedBeforeGivenAway() throws {
        let program = try Program.run("HostProgram", ["dropped"])
        #expect(program.status == 0 && program.lines == ["accepted: true", "ended"])
        #expect(program.errors.contains("Loop.main was given work that never runs"))
    }

    @Test(
        "What is given to a main loop whose thread is given away is refused or dropped, and that is reported",
        .disabled(if: isUnderAddressSanitizer), arguments: ["end-handler", "dropped-timer"])
    func itemOfGivenAway(_ scenario: String) throws {
        let program = try Program.run("HostProgram", [scenario])
        #expect(program.status == 0 && program.lines == ["reported: true"], "\(program.errors)")
    }

    /// In this very process, whose initial thread the test runner has given away.
    @Test("Under a test runner the main loop refuses work")
    func underATestRunner() async {
        // The first access to the loop asks whether the main queue is served.
        _ = Loop.main.isWaiting
        await MainActor.run {}
        #expect(!Loop.main.perform {})
        #expect(!Loop.main.add(Loop.Timer(after: .zero) { _ in }, in: .default))
    }

    // MARK: Without descriptors

    @Test("Errors name the system call and the reason")
    func errorDescriptions() throws {
        let program = try Program.run("DescriptorProgram", ["errors"])
        let reason = "Too many open files (EMFILE)"
        #expect(program.status == 0)
        // Preparing fails at each of its descriptors in turn, and succeeds later.
        #expect(
            program.lines == [
                "port: eventfd: \(reason)", "thread: eventfd: \(reason)", "owned pipe: no error",
                "prepare: eventfd: \(reason)", "prepare: epoll_create1: \(reason)", "prepare: eventfd: \(reason)",
                "prepare: timerfd_create: \(reason)", "prepare: epoll_create1: \(reason)", "prepare: no error",
                "timedOut",
            ])
    }

    @Test("An event costs no more with ten thousand descriptors than with one")
    func tenThousandDescriptors() throws {
        let program = try Program.run("DescriptorProgram", ["many"])
        #expect(program.status == 0 && program.errors == "")
        if program.output.hasPrefix("skipped") { return print(program.output) }
        // One pass serves the event, and another finds that there is no more.
        #expect(
            program.lines == [
                "10000 sources", "2 passes, 2 polls", "the same for each: true, served 10001",
                "all at once: served 20001", "descriptors closed: true",
            ])
    }

    /// A status other than zero is the line of Streams.swift that failed.
    @Test("No descriptor of the library's keeps the number of a closed stream, or makes a closed one seem open")
    func closedStreams() throws {
        let program = try Program.run("DescriptorProgram", ["streams"])
        #expect(program.status == 0)
    }

    @Test("A child takes a descriptor, and one for each pipe; a thread waits only for one that was invalidated")
    func childrensUse() throws {
        let program = try Program.run("DescriptorProgram", ["children"])
        #expect(program.status == 0 && program.errors == "")
        #expect(
            program.lines == [
                "running: 1 descriptors, 0 threads", "in a loop: 1 descriptors, 0 threads", "exited with 0",
                "ended: -1 descriptors, 0 threads", "with three pipes: 4 descriptors, 0 threads", "ended by signal 9",
                "invalidated: 1 descriptors, 1 threads", "and ended: -1 descriptors, 0 threads",
            ])
    }

    @Test("Running without descriptors traps and says so")
    func noDescriptorsLeft() throws {
        let program = try Program.run("DescriptorProgram", ["run"], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == -1)
        for text in ["eventfd: Too many open files (EMFILE)", "running a loop in mode default", "Loop.prepare(_:)"] {
            #expect(program.errors.contains(text))
        }
    }

    // MARK: With little memory

    @Test("A call inside a burst allocates nothing and makes no system call")
    func callInsideABurst() throws {
        // An allocation would end the program.
        try expect("1000 rounds, no system calls of the loops", of: ["burst"])
    }

    /// As few keys as suffice: without optimisation each costs several microseconds. Four leaked bytes for each key
    /// would end the program.
    @Test("Keys that are used once do not stay in memory", arguments: ["throttle", "debounce"])
    func keysUsedOnce(_ kind: String) throws {
        let keys = 100_000
        try expect("\(keys) actions, 1000 keys at most, 0 in the end", of: [kind, "\(keys)"])
    }

    private func expect(_ line: String, of arguments: [String]) throws {
        let program = try Program.run("MemoryProgram", arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == 0)
        #expect(program.lines == [line] || program.lines == ["a sanitizer has the memory"], "\(program.errors)")
    }
}
