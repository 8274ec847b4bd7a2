import ProgramSupport
import TestSupport
import Testing

/// `Loop.runMain`: an asynchronous program that keeps the initial thread.
@Suite(.timeBound) struct RunMainTests {
    private func run(_ name: String) throws -> Program {
        try Program.run("RunMainProgram", [name], environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    @Test("The body stays on the initial thread, which serves the loop, the main actor and the main queue")
    func result() throws {
        let program = try run("result")
        #expect(program.status == 3)
        #expect(program.lines == ["begins", "timer", "has waited", "main queue", "elsewhere: true", "ends"])
    }

    @Test("An error of the body is thrown to the caller")
    func error() throws {
        let program = try run("error")
        #expect(program.status == 0 && program.lines == ["Refusal()"])
    }

    @Test("A stop cancels the body, which can clean up")
    func stop() throws {
        let program = try run("stop")
        #expect(program.status == 0)
        #expect(program.lines == ["signal", "cancelled", "cleaned up", "returned"])
    }

    @Test("A body that ends inside a nested run ends that run")
    func nested() throws {
        let program = try run("nested")
        #expect(program.status == 0)
        #expect(program.lines == ["body ends", "nested run: stopped", "returned"])
    }

    /// That run takes the wake-up.
    @Test("A body that ends inside the run of a block, or of an observer, ends the program, too")
    func nestedBeforeASleep() throws {
        for name in ["nested in a block", "nested in an observer"] { try ends(name) }
    }

    private func ends(_ name: String) throws {
        let program = try run(name)
        #expect(program.status == 0)
        #expect(program.lines == ["body ends", "nested run: stopped", "returned"])
    }

    @Test("A run of the main loop can end when nothing is left")
    func untilFinished() throws {
        let program = try run("until finished")
        #expect(program.status == 0)
        #expect(program.lines == ["timer", "job", "block", "finished", "finished", "finished", "stopped"])
    }

    @Test("A body that returns at once says what it has left")
    func atOnce() throws {
        let program = try run("at once")
        #expect(program.status == 0 && program.lines.count == 2 && program.lines.last == "Failure()")
        let text = "has returned at once, and nothing serves what it has added: timer \"left\"."
        #expect(program.lines.first?.contains(text) == true)
    }

    @Test("A body that heeds no stop is told by another one, two seconds later")
    func secondStop() throws {
        let program = try run("second stop")
        #expect(program.status == 0 && program.lines.count == 3)
        #expect(program.lines.first == "cancelled" && program.lines.last == "returned")
        #expect(program.lines.dropFirst().first?.contains("Loop.main was stopped again") == true)
    }

    @Test("One program may follow another")
    func twice() throws {
        let program = try run("twice")
        #expect(program.status == 0 && program.lines == ["3"])
    }

    @Test("Handlers of every kind of item, posts and limiters may belong to the main actor")
    func handlers() throws {
        let program = try run("handlers")
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "block", "debounce", "debounce for 1", "debounce, all of [1, 2]", "descriptor",
                "keyed debounce, all of [1, 2]", "keyed throttle, all of [1, 2]", "message", "observer",
                "pipe, readable", "port", "process, exited with 0", "signal", "source 0", "throttle", "throttle for 2",
                "throttle, all of [1, 2]", "timer after", "timer at", "timer every", "timer restartable",
            ])
    }

    @Test("Items and limiters of every kind may get a handler of the main actor later")
    func lateHandlers() throws {
        let program = try run("late handlers")
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "child, exited with 0", "collecting for 1: [\"call\"]", "collecting: [\"call\"]", "debounce: call",
                "folder", "for 1: call", "message", "observer", "pipe", "port", "process, exited with 0",
                "queue: input",
                "signal", "source 0", "timer",
            ])
    }

    @Test("Another loop refuses handlers and blocks of the main actor, and says so")
    func otherLoop() throws {
        let program = try run("other loop")
        #expect(program.status == 0 && program.lines.filter { $0 == "false" }.count == 3, "\(program.lines)")
        #expect(program.lines.filter { $0 == "true" }.count == 1)
        #expect(program.lines.filter { $0.contains("main actor") }.count == 4, "\(program.lines)")
    }

    @Test("Handlers of listeners and connections may belong to the main actor")
    func connections() throws {
        let program = try run("connections")
        #expect(program.status == 0)
        let clients = (0..<3).flatMap { number in
            ["closed", "connected", "hello"].map { "client \(number), \($0)" }
        }
        #expect(
            program.lines == clients + [
                "listener, adopted", "listener, late", "listener, made", "pipe, bytes", "pipe, closed",
                "pipe, finished",
            ])
    }

    @Test("Virtual time that lets the main actor settle is exact, on a busy machine, too")
    func settles() throws {
        let program = try run("settles")
        #expect(program.status == 0 && program.lines == ["at rest", "busy"], "\(program.errors)")
    }

    @Test("A detector's label of the main actor reads the state of an object of the main actor")
    func label() throws {
        let program = try run("label")
        #expect(program.status == 0 && program.lines == ["left.layout"])
    }

    @Test("A child can be ended by a signal that the program takes, with or without a mask of its own")
    func child() throws {
        let program = try run("child")
        #expect(program.status == 0 && program.lines == ["ended by signal 15", "ended by signal 15"])
    }

    @Test("A thread can wait for work on the main loop")
    func waits() throws {
        let program = try run("waits")
        #expect(program.status == 0 && program.lines == ["answered, [\"asked\"]"])
    }

    @Test(
        "Where it cannot work it traps and says what to do",
        arguments: [
            ("inside", "called inside a run of the main loop", "Start a task there"),
            ("elsewhere", "called on a thread that is not the process's initial one", "main.swift"),
        ])
    func traps(_ name: String, _ mistake: String, _ wayOut: String) throws {
        let program = try run(name)
        #expect(program.status == -1)
        #expect(program.errors.contains(mistake) && program.errors.contains(wayOut))
    }
}
