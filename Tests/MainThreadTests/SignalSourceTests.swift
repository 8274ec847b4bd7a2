import ProgramSupport
import TestSupport
import Testing

/// Signals and masks belong to a whole process: each scenario of SignalProgram has one of its own.
@Suite(.timeBound) struct SignalSourceTests {
    private func play(_ scenario: String) throws -> Program {
        var environment = ["SWIFT_BACKTRACE": "enable=no"]
        // What the initial thread holds when it is given away stays for ever.
        if scenario == "withoutInitialThread" { environment["ASAN_OPTIONS"] = "detect_leaks=0" }
        let program = try Program.run("SignalProgram", [scenario], environment: environment)
        #expect(program.errors == "")
        return program
    }

    private func expect(_ scenario: String, _ lines: [String]) throws {
        let program = try play(scenario)
        #expect(program.status == 0 && program.lines == lines)
    }

    @Test func aSignalArrivesWithWhatTheKernelKnowsOfIt() throws {
        try expect("arrives", ["true true true 0", "true true true 0", "true", "SIGWINCH: 1", "stopped"])
    }

    @Test func allThatCanBeCaughtIs() throws { try expect("kinds", Array(repeating: "heard", count: 15)) }

    @Test func realTimeSignalsAreReportedEachAndOnce() throws { try expect("realTime", ["[1, 2, 3] -1", "[4] -1"]) }

    @Test func allSourcesForASignalHearItOnWhicheverThread() throws {
        try expect("two", ["the other thread heard all", "second: 1", "in no loop yet: 1"])
    }

    /// As much as the kernel would, and the first ones.
    @Test func aSourceInAModeThatDoesNotRunRemembersNoMoreThanTheKernelWould() throws {
        try expect(
            "bounded",
            ["reader: 250"] + Array(repeating: "ordinary: 1", count: 3) + ["other: true, 100", "other ordinary: 1"])
    }

    @Test func masksArePutBackWithTheLastSource() throws {
        try expect(
            "masks",
            [
                "before: false", "with two: true", "with one: true", "after: false",
                "blocked by the program itself: true",
                "ended elsewhere: true", "after a pass: false",
            ])
    }

    @Test func theMaskOfASourceMadeInAVirtualLoopsHandlerIsPutBackByTheThreadsOwnLoop() throws {
        try expect("maskOfAVirtualHandler", ["made: true", "after a pass: false"])
    }

    @Test func aThreadThatWouldTakeTheSignalIsNamed() throws {
        let program = try play("threads")
        let error = try #require(program.lines.first)
        #expect(error.hasPrefix("SignalSource(10): Device or resource busy (EBUSY); the thread \"too early\" ("))
        #expect(error.contains("before that thread is started"))
        #expect(program.lines.dropFirst() == ["blocked: false", "unchecked: 1", "checked: 1"])
    }

    @Test func aThreadThatHasEndedTakesNoSignals() throws {
        try expect("withoutInitialThread", ["heard: 1"])
    }

    @Test func aSignalForOneThreadIsHeardThere() throws { try expect("toOneThread", ["heard: 1"]) }

    @Test func aHandlerMayBeIsolatedToAnActorAndGoesWithIt() throws {
        try expect("isolated", ["heard: 2", "then: false false"])
    }

    @Test func programsInheritBlockedSignals() throws {
        try expect("inherited", ["SigBlk:\t0000000000000200", "SigBlk:\t0000000000000000"])
    }

    @Test func aChildsEndIsASignalAndAnExit() throws {
        try expect("children", ["SIGCHLD: 1", "exited with 3", "finished"])
    }

    @Test func anExitIsToldAlsoWhenChildrenAreIgnored() throws {
        try expect("ignoredChildren", ["timedOut", "ended, nobody knows how", "finished"])
    }

    @Test func theExitOfATracedChildIsToldWhenItsTracerLetsGoOfIt() throws {
        let program = try play("tracedChild")
        if program.output.hasPrefix("skipped") { return print(program.output) }
        #expect(
            program.status == 0
                && program.lines == ["ended, and quiet: true", "exited with 7", "let go, and quiet: true"])
    }

    @Test func aHostIsToldOfASignalAndNothingElse() throws {
        try expect("hosted", ["idle", "heard: 1", "idle", "then: "])
    }

    @Test func whatCannotBeCaughtIsRefused() throws {
        let program = try play("numbers")
        #expect(program.lines.count == 7 && program.lines.allSatisfy { $0.contains("Invalid argument (EINVAL)") })
        #expect(program.lines.prefix(2).allSatisfy { $0.hasSuffix("; nobody can catch SIGKILL and SIGSTOP") })
        #expect(
            program.lines.last
                == "signalfd(1000000): Invalid argument (EINVAL); there is no such signal, or the C library keeps it for itself"
        )
    }

    @Test func aSignalWaitsWhileNoLoopHasTheSource() throws {
        try expect("restarts", ["1 in default", "stopped", "1 in last", "stopped false false"])
    }

    @Test func aSignalThatWasTakenAndNotToldIsDroppedWithItsSource() throws {
        try expect("lastMoment", ["stopped false"])
    }

    @Test func aPendingSignalTakesItsOrdinaryWayAfterTheEnd() throws {
        let program = try play("pending")
        #expect(program.status == -1 && program.lines == ["pending"])
    }
}
