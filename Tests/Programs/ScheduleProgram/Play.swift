#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// One execution of a program: its threads, and what must be true in the end.
    ///
    /// The threads run one at a time, so nothing here needs a lock.
    final class Play: @unchecked Sendable {
        private(set) var bodies: [@Sendable () -> Void] = []
        private(set) var ends: [() -> Void] = []
        private let findings: Findings

        init(_ findings: Findings) { self.findings = findings }

        func thread(_ body: @escaping @Sendable () -> Void) { bodies.append(body) }

        private(set) var complaint: () -> String? = { nil }

        /// What is wrong whenever thread 0 waits for a descriptor that is not readable.
        func whileSleeping(_ complaint: @escaping () -> String?) { self.complaint = complaint }

        private(set) var afterKill: () -> Void = {}

        /// Waits for what another process does when it has got a signal: it may not come at another time in each play.
        func afterKill(_ wait: @escaping () -> Void) { afterKill = wait }

        /// Called when all threads have ended.
        func finally(_ body: @escaping () -> Void) { ends.append(body) }

        /// Releases what the closures have captured: this object, as a rule, and the loops of its threads.
        func end() { (bodies, ends, complaint, afterKill) = ([], [], { nil }, {}) }

        /// Something for a handler to capture, which must be released in the end.
        func capture() -> Shared<Int> {
            let captured = Shared(0)
            finally { [weak captured, self] in require(captured == nil, "A handler is not released.") }
            return captured
        }

        func require(_ condition: Bool, _ what: @autoclosure () -> String) {
            if !condition { findings.found(what()) }
        }
    }

    /// A value that threads share. What a handler has captured is released without a lock, since its deinit may be the
    /// program's.
    final class Shared<Value>: @unchecked Sendable {
        var value: Value
        init(_ value: Value) { self.value = value }
        deinit { Lock.assertNoneHeld() }
    }

    struct Program: Sendable {
        let name: String
        /// The most preemptions of an exhaustive play: switches from a thread that could go on.
        let bound: Int
        let play: @Sendable (Play) -> Void

        init(_ name: String, bound: Int = 2, _ play: @escaping @Sendable (Play) -> Void) {
            (self.name, self.bound, self.play) = (name, bound, play)
        }

        /// Returns the choices that there were.
        func execute(_ order: any Order, _ findings: Findings) -> [Choice] {
            let loopCount = LoopRegistry.shared.loops.count
            let choices = executeOnce(order, findings)
            let left = LoopRegistry.shared.loops.count - loopCount
            // The first execution may make one that the process keeps.
            if findings.executions > 0, left > 0 { findings.found("Loops that nobody uses are left: \(left).") }
            return choices
        }

        private func executeOnce(_ order: any Order, _ findings: Findings) -> [Choice] {
            let play = Play(findings)
            // What is made here, and what is asked at the end, counts on the clock of the threads.
            Schedule.timeOutside = Scheduler.startTime
            self.play(play)
            Schedule.timeOutside = nil
            let scheduler = Scheduler(order, findings, complaint: play.complaint, afterKill: { play.afterKill() })
            scheduler.run(play.bodies)
            Schedule.timeOutside = scheduler.now
            for end in play.ends { end() }
            play.end()
            Schedule.timeOutside = nil
            return scheduler.choices
        }
    }

    /// What is wrong, and how to see it again. The first finding ends the process.
    final class Findings: @unchecked Sendable {
        let program: String
        var executions = 0
        /// What repeats the present execution.
        var replay = "" { didSet { Findings.prepareForTrap(text("The process has trapped.")) } }

        /// Of the command, and needed to see it again.
        nonisolated(unsafe) static var options = ""

        /// Those of the present play.
        nonisolated(unsafe) static var current: Findings?

        init(_ program: String) {
            self.program = program
            Findings.current = self
        }

        private func text(_ what: String) -> String {
            "FOUND in \"\(program)\", execution \(executions): \(what)\n"
                + "    again: ScheduleProgram \(replay)\(Findings.options)\n"
        }

        func found(_ what: String) -> Never {
            let bytes = Array(text(what).utf8)
            fflush(nil)
            _ = write(STDOUT_FILENO, bytes, bytes.count)
            _exit(1)
        }

        // MARK: Traps

        private nonisolated(unsafe) static let trapText = UnsafeMutablePointer<UInt8>.allocate(capacity: 4096)
        private nonisolated(unsafe) static var trapCount = 0

        private static func prepareForTrap(_ text: String) {
            trapCount = 0
            for byte in text.utf8.prefix(4096) {
                trapText[trapCount] = byte
                trapCount += 1
            }
        }

        /// A trap of the library is a finding as well.
        static func catchTraps() {
            for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT] {
                signal(number) { _ in
                    _ = write(STDOUT_FILENO, Findings.trapText, Findings.trapCount)
                    _exit(1)
                }
            }
        }
    }
#endif
