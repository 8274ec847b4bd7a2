import ProgramSupport
import TestSupport
import Testing

/// Signals belong to a whole process: each scenario of SignalProgram runs in a process of its own.
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

    @Test("Different signals that wait together come in the order in which they arrived, with other sources")
    func severalSignals() throws {
        let names = ["USR2", "HUP", "USR1", "TERM"]
        let rounds = (0..<8).map { round -> [String] in
            let order = (0..<4).map { names[(round / 2 + (round % 2 == 0 ? $0 : 3 - $0)) % 4] }
            return Array(order[..<2]) + ["port"] + order[2...]
        }
        try expect("several", rounds.flatMap { $0 })
    }

    @Test("One source reports several signals together, in the order in which they arrived, and each once")
    func oneSource() throws {
        try expect(
            "oneSource",
            [
                "true true", "before: 1, replaced: true", "true", "TERM true, USR2 true, USR1 true, HUP true",
                "HUP true, USR1 true", "HUP true", "other: 1", "after: 2",
                "sigaction: Invalid argument (EINVAL); name at least one signal",
                "sigaction(40): Invalid argument (EINVAL); give a real-time signal a source of its own",
                "sigaction(9): Invalid argument (EINVAL); SIGKILL and SIGSTOP cannot be caught",
            ])
    }

    @Test("A signal that comes while an earlier one is taken is served after it was sent")
    func comesAgain() throws { try expect("comesAgain", ["all were served"]) }

    @Test("A signal that comes again while its source is served comes behind one that came before")
    func signalServedBefore() throws { try expect("servedBefore", ["USR1", "USR2", "USR1"]) }

    /// ThreadSanitizer delays signals, and keeps one of a number for each thread.
    private static let keepsAllSignals = !isUnderThreadSanitizer

    @Test("Each real-time signal is reported, once", .enabled(if: keepsAllSignals))
    func realTimeSignals() throws { try expect("realTime", ["[1, 2, 3] -1", "[4] -1"]) }

    @Test("All sources for a signal are notified, on whichever thread")
    func severalSources() throws {
        try expect("two", ["the other thread heard all", "second: 1", "in no loop yet: 1"])
    }

    @Test("A source in a mode that does not run holds 4,096 real-time signals, and says how many it has lost")
    func sourceInAnIdleMode() throws {
        try expect(
            "bounded",
            ["reader: 5000"] + Array(repeating: "ordinary: 1", count: 3) + [
                "The signal source \"idle\" has lost 904 signals, since it was full when they came. Let its handler, "
                    + "and others of its loop, return sooner; run the loop in a mode that has the source; or let the "
                    + "sender wait for an answer.",
                "other: true, 4096", "other ordinary: 1",
            ])
    }

    @Test("The last source for a signal gives it its old effect again")
    func oldEffect() throws {
        try expect(
            "effects",
            [
                "before: 1", "replaced: true", "described: true", "first: 1", "with sources: 1", "after: 2",
                "ended elsewhere: 3", "installed meanwhile: 203", "replaced: none", "ignored: 1", "ignored again",
            ])
    }

    @Test("Any thread may make a source at any time, and any thread may take its signal")
    func anyThread() throws {
        try expect(
            "anyThread", ["made on a worker: 1", "made later: 1", "blocked there: true"])
    }

    @Test("A signal that all threads block is unblocked on one of them")
    func blockedEverywhere() throws {
        try expect("blockedEverywhere", ["blocked: false, there: true", "pending: 1", "pending: 1"])
    }

    @Test("A call that a signal interrupts is restarted")
    func restartedCalls() throws { try expect("restartedCalls", ["heard: 50", "read: 1"]) }

    @Test(
        "Each of many signals is heard once while sources come and go, and no late write reaches another file",
        .enabled(if: keepsAllSignals))
    func contended() throws { try expect("contended", ["true", "true", "strays: 0"]) }

    @Test("A fault has its old effect", arguments: [("access", -1), ("trap", -1), ("handled", 7)])
    func faults(kind: String, status: Int) throws {
        let program = try Program.run(
            "SignalProgram", ["fault", kind], environment: ["SWIFT_BACKTRACE": "enable=no"])
        // A sanitizer's own handler is an old effect, too: it ends the program with a status of its own.
        let isSanitized = isUnderThreadSanitizer || isUnderAddressSanitizer
        #expect(program.status == status || (isSanitized && program.status != 0))
        #expect(program.lines == Array(repeating: "sent: 1", count: 3))
    }

    @Test("In a child of fork the signal has its old effect, and the child may have a source of its own")
    func forkedChild() throws {
        try expect(
            "forked",
            [
                "child, without a source: 1",
                "child: The loop refused the signal source \"parent's\", which was made before the fork, and hears "
                    + "nothing in the child: make a new one there.",
                "child, the parent's source: false", "child: 1", "child, afterwards: 2", "parent: 1",
                "parent's handler: 0",
            ])
    }

    @Test("A source hears its signal when a loop has it for the first time, and leaves it alone before")
    func notAddedYet() throws {
        let program = try play("notAddedYet")
        #expect(program.status == -1, "ended by the signal")
        #expect(
            program.lines == [
                "replaced: none", "made: 1", "refused: true", "refused: 2", "in a mode: 2", "heard: 1", "invalid: 3",
                "invalid: true",
            ])
    }

    @Test("A thread that has ended takes no signals")
    func endedThread() throws {
        try expect("withoutInitialThread", ["heard: 1"])
    }

    @Test("A signal for one thread arrives there")
    func signalForOneThread() throws { try expect("toOneThread", ["heard: 1"]) }

    @Test("A thread with an alternate stack takes a signal on that")
    func alternateStack() throws {
        let program = try play("alternateStack")
        let isSanitized = isUnderThreadSanitizer || isUnderAddressSanitizer
        #expect(program.lines.first == "used: true, and left: true" && program.lines.last == "heard: 1")
        #expect(isSanitized || program.lines[1] == "fits into 4 KiB behind the kernel's frame: true")
    }

    @Test("A sigwait takes a signal that all threads block; the initial thread comes before other threads")
    func waitedFor() throws {
        try expect(
            "waitedFor",
            [
                "a second source has unblocked it: false", "all threads block it: source 0, sigwait 20",
                "the initial thread does not: source 20, sigwait 0",
                "the initial thread waits, the other one does not block it: source 0, sigwait 20",
            ])
    }

    @Test("A handler may be isolated to an actor and is released with it")
    func isolatedHandler() throws {
        try expect("isolated", ["heard: 2", "then: false"])
    }

    @Test("SIGTERM ends a child beside a source for it, however the child is started")
    func childrenAreTerminated() throws {
        // A shell reports on stderr that a signal has ended its child.
        let program = try Program.run("SignalProgram", ["terminated"])
        #expect(
            program.status == 0
                && program.lines == [
                    "posix_spawn", "fork and execv", "a shell", "system", "popen", "Process of Foundation",
                ])
    }

    @Test("The terminate() of Foundation's Process ends a child beside a source for SIGTERM")
    func foundationTerminates() throws { try expect("terminatedByFoundation", ["ended by 15"]) }

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
                == "sigaction(1000000): Invalid argument (EINVAL); there is no such signal, "
                + "or the C library keeps it for itself"
        )
    }

    @Test("A signal waits while no loop has the source")
    func signalWaits() throws {
        try expect("restarts", ["1 in default", "stopped", "1 in last", "stopped false"])
    }

    @Test("A signal that was taken but not reported is dropped with its source")
    func unreportedSignal() throws {
        try expect("lastMoment", ["stopped"])
    }

    @Test("A signal has its default effect after the source ends")
    func afterTheEnd() throws {
        let program = try play("afterTheEnd")
        #expect(program.status == -1 && program.lines == ["without a source"])
    }
}
