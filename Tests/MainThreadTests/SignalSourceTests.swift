import ProgramSupport
import TestSupport
import Testing

/// Signals and masks belong to a whole process: each scenario of SignalProgram runs in a process of its own.
@Suite(.timeBound) struct SignalSourceTests {
    private func play(_ scenario: String) throws -> Program {
        var environment = ["SWIFT_BACKTRACE": "enable=no"]
        // Objects that the initial thread retains when it is given away stay for ever.
        if scenario == "withoutInitialThread" { environment["ASAN_OPTIONS"] = "detect_leaks=0" }
        let program = try Program.run("SignalProgram", [scenario], environment: environment)
        #expect(program.errors == "")
        return program
    }

    private func expect(_ scenario: String, _ lines: [String]) throws {
        let program = try play(scenario)
        #expect(program.status == 0 && program.lines == lines)
    }

    @Test("A signal arrives with the information that the kernel has about it")
    func kernelInformation() throws {
        try expect("arrives", ["true true true 0", "true true true 0", "true", "SIGWINCH: 1", "stopped"])
    }

    @Test("Every signal that can be caught can have a source")
    func allSignals() throws { try expect("kinds", Array(repeating: "heard", count: 15)) }

    @Test("Different signals that wait together come in the order in which their sources were added")
    func severalSignals() throws {
        try expect("several", Array(repeating: ["USR2", "HUP", "USR1", "TERM", "port"], count: 8).flatMap { $0 })
    }

    @Test("Each real-time signal is reported, once")
    func realTimeSignals() throws { try expect("realTime", ["[1, 2, 3] -1", "[4] -1"]) }

    @Test("All sources for a signal are notified, on whichever thread")
    func severalSources() throws {
        try expect("two", ["the other thread heard all", "second: 1", "in no loop yet: 1"])
    }

    /// As many as the kernel would keep, and the first ones.
    @Test("A source in a mode that does not run remembers no more than the kernel would")
    func sourceInAnIdleMode() throws {
        try expect(
            "bounded",
            ["reader: 250"] + Array(repeating: "ordinary: 1", count: 3) + ["other: true, 100", "other ordinary: 1"])
    }

    @Test("The mask is restored with the last source")
    func maskIsRestored() throws {
        try expect(
            "masks",
            [
                "before: false", "with two: true", "with one: true", "after: false",
                "blocked by the program itself: true",
                "ended elsewhere: true", "after a pass: false",
            ])
    }

    @Test("The thread's own loop restores the mask of a source made in a virtual loop's handler")
    func maskFromAVirtualLoop() throws {
        try expect("maskOfAVirtualHandler", ["made: true", "after a pass: false"])
    }

    @Test("The error names a thread that would take the signal")
    func threadThatTakesTheSignal() throws {
        let program = try play("threads")
        let error = try #require(program.lines.first)
        #expect(error.hasPrefix("SignalSource(10): Device or resource busy (EBUSY); the thread \"too early\" ("))
        #expect(error.contains("before that thread is started"))
        #expect(program.lines.dropFirst() == ["blocked: false", "unchecked: 1", "checked: 1"])
    }

    @Test("A thread that has ended takes no signals")
    func endedThread() throws {
        try expect("withoutInitialThread", ["heard: 1"])
    }

    @Test("A signal for one thread arrives there")
    func signalForOneThread() throws { try expect("toOneThread", ["heard: 1"]) }

    @Test("A handler may be isolated to an actor and is released with it")
    func isolatedHandler() throws {
        try expect("isolated", ["heard: 2", "then: false false"])
    }

    @Test("A child begins with the signals blocked that the documentation says, however it is started")
    func inheritedSignals() throws {
        let program = try play("inherited")
        let masks = ["SigBlk:\t0000000000004000": "blocked", "SigBlk:\t0000000000000000": "not blocked"]
        let lines = program.lines.map { masks[$0] ?? $0 }
        let found = stride(from: 0, to: lines.count - 1, by: 2).map { [lines[$0], lines[$0 + 1]] }
        let rows = try DocumentedTable.rows(
            of: "SignalsThreadsForkCancellation", below: ["how the child is started", "its SIGTERM"])
        #expect(program.status == 0 && found.map { $0[0] } == rows.map { $0[0] })
        // A shell may unblock signals. `system` and `popen` do what the one on this machine does.
        let shell = found.first { $0[0].contains("/bin/sh") }?[1]
        for (found, row) in zip(found, rows) {
            #expect(found[1] == (row[1].hasPrefix("as the shell decides") ? shell : row[1]), "\(row[0])")
        }
    }

    @Test("The terminate() of Foundation's Process leaves a blocked signal pending")
    func foundationLeavesSignalsBlocked() throws {
        try expect("inheritedByFoundation", ["ShdPnd:\t0000000000004000", "ended by 9"])
    }

    @Test("A child's end is a signal and an exit")
    func childsEnd() throws {
        try expect("children", ["SIGCHLD: 1", "exited with 3", "finished"])
    }

    @Test("An exit is reported also when children are ignored")
    func ignoredChildren() throws {
        try expect("ignoredChildren", ["timedOut", "ended, status unknown", "finished"])
    }

    @Test("The exit of a traced child is reported when its tracer detaches")
    func tracedChild() throws {
        let program = try play("tracedChild")
        if program.output.hasPrefix("skipped") { return print(program.output) }
        #expect(
            program.status == 0
                && program.lines == ["ended, and quiet: true", "exited with 7", "detached, and quiet: true"])
    }

    @Test("A host is notified of a signal and of nothing else")
    func hostedSignal() throws {
        try expect("hosted", ["idle", "heard: 1", "idle", "then: "])
    }

    @Test("A signal that cannot be caught is refused")
    func uncatchableSignals() throws {
        let program = try play("numbers")
        #expect(program.lines.count == 7 && program.lines.allSatisfy { $0.contains("Invalid argument (EINVAL)") })
        #expect(program.lines.prefix(2).allSatisfy { $0.hasSuffix("; SIGKILL and SIGSTOP cannot be caught") })
        #expect(
            program.lines.last
                == "signalfd(1000000): Invalid argument (EINVAL); there is no such signal, "
                + "or the C library keeps it for itself"
        )
    }

    @Test("A signal waits while no loop has the source")
    func signalWaits() throws {
        try expect("restarts", ["1 in default", "stopped", "1 in last", "stopped false false"])
    }

    @Test("A signal that was taken but not reported is dropped with its source")
    func unreportedSignal() throws {
        try expect("lastMoment", ["stopped false"])
    }

    @Test("A pending signal has its default effect after the source ends")
    func pendingSignal() throws {
        let program = try play("pending")
        #expect(program.status == -1 && program.lines == ["pending"])
    }
}
