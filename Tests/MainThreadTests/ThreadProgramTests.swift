import ProgramSupport
import TestSupport
import Testing

/// Threads in programs of their own, which can give up permissions and descriptors, call `exit`, and wait for Dispatch.
@Suite(.timeBound) struct ThreadProgramTests {
    @Test("Without permission the error names the call, the value and the remedy")
    func noPermission() throws {
        let program = try Program.run("ThreadProgram", ["options"])
        #expect(program.status == 0)
        func refusal(_ call: String, _ error: String, _ limit: String) -> String {
            "\(call): \(error); it takes CAP_SYS_NICE, or \(limit) or more"
        }
        let notPermitted = "Operation not permitted (EPERM)"
        let fifo = refusal("sched_setscheduler(SCHED_FIFO, 10)", notPermitted, "RLIMIT_RTPRIO of 10")
        let roundRobin = refusal("sched_setscheduler(SCHED_RR, 1)", notPermitted, "RLIMIT_RTPRIO of 1")
        let nice = refusal("setpriority(-5)", "Permission denied (EACCES)", "RLIMIT_NICE of 25")
        #expect(
            program.lines == [
                "fifo: \(fifo)",
                "round robin: \(roundRobin)",
                "nice: \(nice)",
                "pool: \(fifo)",
                "refused: [\"sched_setscheduler(SCHED_FIFO, 10)\", \"setpriority(-5)\"]",
                "runs: true, seen: true", "no thread left behind",
            ])
    }

    @Test("A pool that cannot start all of its threads leaves nothing behind")
    func incompletePool() throws {
        let program = try Program.run("ThreadProgram", ["pool"])
        #expect(program.status == 0)
        #expect(
            program.lines.first == "pool: no error" && program.lines.dropFirst().first?.contains("(EMFILE)") == true)
        #expect(program.lines.suffix(2) == ["descriptors left behind: 0", "no thread left behind"])
    }

    /// libdispatch has a key, too, whose memory a handler of the end needs to resume a task.
    @Test("The loop of any thread ends before the values of keys")
    func endBeforeKeys() throws {
        let program = try Program.run("ThreadProgram", ["returns"])
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "the source leaves default", "the loop ends", "a key's value is destroyed", "no thread left behind",
            ])
    }

    @Test("A thread that calls exit ends its loop, unless it is in a run")
    func exit() throws {
        let outside = try Program.run("ThreadProgram", ["exits"])
        #expect(outside.status == 0)
        #expect(outside.lines == ["the source leaves default", "the loop ends"])
        let inside = try Program.run("ThreadProgram", ["exits-in-handler"])
        #expect(inside.status == 0)
        #expect(inside.lines == [])
    }

    @Test("A forked child that calls exit does not end the loop of its parent")
    func exitOfForkedChild() throws {
        let program = try Program.run("ThreadProgram", ["forks"])
        #expect(program.status == 0)
        #expect(
            program.lines == [
                "the source leaves default", "the loop ends", "a key's value is destroyed", "no thread left behind",
            ])
    }

    /// The program crashed, since libdispatch had freed what it needs to resume them.
    @Test("Tasks that sleep on the loop of a Dispatch thread continue when it ends")
    func tasksOfIdleThread() throws {
        let program = try Program.run("ThreadProgram", ["idle"])
        #expect(program.status == 0)
        #expect(program.lines == ["every task continues", "no thread left behind"])
    }
}
