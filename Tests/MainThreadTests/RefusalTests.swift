import ProgramSupport
import TestSupport
import Testing

/// What the kernel refuses: each input and each thread, without descriptors and without threads.
@Suite(.timeBound) struct RefusalTests {
    @Test("What was refused once works later in the same process, and leaves nothing behind")
    func refusedOnce() throws {
        let list = try run([])
        #expect(list.status == 0 && list.lines.count >= 15, "\(list.errors)")
        for line in list.lines {
            let words = line.split(separator: "\t").map(String.init)
            let (refused, undisturbed) = (try run(words), try run(["none", words[1]]))
            let reason =
                words[0] == "threads"
                ? "pthread_create: Resource temporarily unavailable (EAGAIN)" : "Too many open files (EMFILE)"
            let errors = refused.lines.dropLast(2)
            #expect(
                !errors.isEmpty && errors.allSatisfy { $0.hasPrefix("refused: ") && $0.hasSuffix(reason) },
                "\(words): \(refused.lines), \(refused.errors)")
            #expect(
                refused.status == 0 && undisturbed.status == 0, "\(words): \(refused.errors), \(undisturbed.errors)")
            #expect(
                undisturbed.lines.count == 2 && Array(refused.lines.suffix(2)) == undisturbed.lines,
                "\(words): \(refused.lines), without a refusal \(undisturbed.lines)")
        }
    }

    @Test("A loop that never runs is reported though the thread that looks for such loops was refused at first")
    func unrunLoops() throws {
        let program = try run(["unrun"])
        #expect(program.status == 0 && program.lines == ["both are reported"], "\(program.errors)")
    }

    @Test("Timers of a thread fire though no timerfd could be made for them, and by one when it can be")
    func timersWithoutTimerFD() throws {
        let program = try run(["timers"])
        #expect(
            program.status == 0
                && program.lines == [
                    "fired, finished, a timerfd: false", "precise, a timerfd: false",
                    "fired, finished, a timerfd: true",
                ],
            "\(program.lines), \(program.errors)")
    }

    @Test(
        "Where there is no caller to throw to, the refusal traps with the call and the reason",
        arguments: [
            ("run", "running a loop in mode default: eventfd: Too many open files (EMFILE)"),
            ("continuous", "adding a timer on the continuous clock: timerfd_create: Too many open files (EMFILE)"),
            ("wall-clock", "adding a timer on the wallClock clock: timerfd_create: Too many open files (EMFILE)"),
            (
                "last-resort",
                "there is no thread of last resort for the jobs of an ended loop: pthread_create: "
                    + "Resource temporarily unavailable (EAGAIN)"
            ),
        ])
    func trap(name: String, text: String) throws {
        let program = try run(["trap", name])
        #expect(program.status == -1 && program.errors.contains("RunLoopKit: \(text)"), "\(program.errors)")
    }

    private func run(_ arguments: [String]) throws -> Program {
        try Program.run("RefusalProgram", arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }
}
