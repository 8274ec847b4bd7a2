import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Work that is lost, or is about to be, is reported. As `MistakeTests`, each in a process of its own.
@Suite(.timeBound) struct LostWorkMistakeTests {
    @Test("A block that comes after the stop is reported once for each place, but not where the answer says it")
    func refusedBlocks() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let loop = Loop(clock: VirtualClock())
            loop.end()
            let (worker, pool) = (try LoopThread(name: "worker"), try makePool(2))
            worker.stop()
            pool.stop()
            worker.joinBlocking()
            pool.joinBlocking()

            loop.perform(label: "a") {}
            loop.perform(in: [.default, .tracking], label: "b") {}
            loop.perform(after: .seconds(1), label: "c") {}
            worker.perform(label: "d") {}
            worker.perform(after: .seconds(1), label: "e") {}
            pool.perform(label: "f") {}
            pool.perform(for: "key", label: "g") {}
            let blocks = mistakes.entries.map { mistake -> String in
                guard case .refusedBlock(let block, let thread) = mistake else { return "\(mistake)" }
                return "\(block) \(thread)"
            }
            let names = ["a", "b", "c", "d", "e", "f", "g"].map { "block \"\($0)\" " }
            let threads = Array(repeating: loop.threadName, count: 3) + ["worker", "worker", "pool", "pool"]
            precondition(blocks == zip(names, threads).map { $0 + $1 }, "\(blocks)")

            // These answers cannot be overlooked.
            precondition(loop.performCancellable {} == nil && !loop.perform(in: []) {})
            try? await worker.run {}
            try? await pool.run {}
            withExtendedLifetime(LoopBound(Log<Int>(), on: worker.loop)) {}
            _exit(mistakes.entries.count == names.count ? 0 : 1)
        }
    }

    @Test("A block after the stop is named by its place, with the way out")
    func textOfRefusedBlock() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let worker = try LoopThread(name: "worker")
            worker.stop()
            worker.joinBlocking()
            for _ in 0..<3 { worker.perform(file: "Program/main.swift", line: 7) {} }
        }
        expect(
            result,
            says: [
                "RunLoopKit: The block (Program/main.swift:7) was refused, since \"worker\" has been stopped, or its "
                    + "loop has ended: the block does not run, as the answer of the call (false, or nil) says. Hand it "
                    + "over before the stop, which runs what was accepted and is due. Where a stop may come first, use "
                    + "run, or performCancellable of a loop: their answers come without a report. "
                    + "(Reported only once.)\n"
            ])
    }

    @Test("A mistake of the handler of mistakes is printed, and does not call it again")
    func mistakeOfTheHandler() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (worker, calls) = (try LoopThread(name: "log"), Count())
            worker.stop()
            worker.joinBlocking()
            Loop.mistakeHandling = .call { _ in
                calls.up()
                worker.perform(label: "a line") {}
            }
            for _ in 0..<3 { worker.perform(label: "work") {} }
            _exit(calls.value == 3 ? 0 : 1)
        }
        expect(result, says: ["RunLoopKit: The block \"a line\" was refused"])
    }

    @Test("What a child has written to a pipe that nobody reads is reported with its end")
    func unreadOutput() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            /// A child without handlers for its outputs, but for one.
            @Sendable func play(_ text: String, _ set: (Loop.ChildProcess) -> Void = { _ in }) throws {
                let child = try Loop.ChildProcess(
                    "sh", ["-c", text], output: .pipe, error: .pipe, label: text
                ) { _, _ in Loop.current.stop() }
                set(child)
                Loop.current.add(child)
                Loop.current.run()
            }
            try onThreadOfItsOwn {
                try play("printf out; printf error >&2")
                try play("printf read") { $0.outputConnection.setHandler { _, _ in } }
                try play("true")
                try play("printf given up") { $0.outputConnection.invalidate() }
            }
            let found = mistakes.entries.map { mistake -> String in
                guard case .unreadOutput(let connection) = mistake else { return "\(mistake)" }
                return connection
            }
            let child = "output of \"printf out; printf error >&2\""
            let isExact = found.count == 2 && found[0].contains(child) && found[1].contains("error \(child)")
            precondition(isExact, "\(found)")
            _exit(0)
        }
    }
}
