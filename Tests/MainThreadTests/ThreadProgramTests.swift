import ProgramSupport
import TestSupport
import Testing

/// Threads that cannot be made as requested: in programs of their own, which can give up permissions and descriptors.
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
}
