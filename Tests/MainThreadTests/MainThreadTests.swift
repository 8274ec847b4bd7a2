import ProgramSupport
import Testing

/// Programs with main threads of their own: the main loop, the main dispatch queue and the main actor.
@Suite struct MainThreadTests {
    /// Plays the scenarios of MainQueueProgram on one side. What CFRunLoop leaks is not ours to report.
    private func play(_ side: String, moment: String) throws -> Program {
        try Program.run(
            "MainQueueProgram", [side, moment], environment: side == "cf" ? ["ASAN_OPTIONS": "detect_leaks=0"] : [:])
    }

    @Test func theMainQueueIsServedAsByCFRunLoop() throws {
        var (expected, actual) = (try play("cf", moment: "0.05"), try play("kit", moment: "0.05"))
        // Both play in real time: longer moments before a difference is believed, as in ConformanceTests.
        for moment in ["0.2", "1"] where actual.output != expected.output {
            expected = try play("cf", moment: moment)
            actual = try play("kit", moment: moment)
        }
        #expect(actual.status == 0 && expected.status == 0)
        #expect(!actual.output.contains("wrong thread") && actual.output.contains("queue 1"))
        #expect(actual.lines == expected.lines)
    }

    @Test(arguments: ["stay", "prepared"])
    func aProgramWithOnlyTheMainLoopStaysAliveForTheQueue(_ argument: String) throws {
        let program = try Program.run("MainQueueProgram", [argument])
        #expect(program.status == 0)
        #expect(program.lines == ["sync on main: true", "main actor: true", "main actor again: true", "stopped"])
    }

    @Test func aProgramThatUsesNeitherDispatchNorConcurrencyRuns() throws {
        let program = try Program.run("PlainProgram", [])
        #expect(program.status == 0 && program.lines == ["source", "finished"])
    }

    @Test func theMainLoopOffTheInitialThreadTrapsAndSaysWhatToDo() throws {
        // The backtrace is of no interest here.
        let program = try Program.run("AsyncMainProgram", [], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == -1)
        #expect(program.errors.contains("Loop.main.run was called on a thread that is not the process's initial one"))
        #expect(program.errors.contains("without 'async'"))
    }

    // MARK: Without descriptors

    @Test func errorsNameTheCallAndTheReason() throws {
        let program = try Program.run("DescriptorProgram", ["errors"])
        let reason = "Too many open files (EMFILE)"
        #expect(program.status == 0)
        // Preparing fails at each of its descriptors in turn, and can be tried again.
        #expect(
            program.lines == [
                "port: eventfd: \(reason)", "thread: eventfd: \(reason)", "prepare: eventfd: \(reason)",
                "prepare: eventfd: \(reason)",
                "prepare: timerfd_create: \(reason)", "prepare: epoll_create1: \(reason)", "prepare: no error",
                "timedOut",
            ])
    }

    @Test func runningWithoutDescriptorsTrapsAndSaysSo() throws {
        let program = try Program.run("DescriptorProgram", ["run"], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == -1)
        for text in ["eventfd: Too many open files (EMFILE)", "running a loop in mode default", "Loop.prepare(_:)"] {
            #expect(program.errors.contains(text))
        }
    }
}
