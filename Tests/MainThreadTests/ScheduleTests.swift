import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The threads of small programs, in every order with a few preemptions: see `ScheduleProgram`.
///
/// Here the first orders of each program, and a few random ones; in a long run more of them.
@Suite(.timeBoundFromTheStart) struct ScheduleTests {
    /// Whether a sanitizer is on, which knows nothing of threads that wait for their turn.
    private static let isSanitized = ["__tsan_init", "__asan_init"].contains { (symbol: String) in
        dlsym(nil, symbol) != nil
    }

    private func play(_ arguments: [String]) throws -> Program {
        try Program.run("ScheduleProgram", arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    /// Plays all programs, in a long run one after the other.
    private func playAll(_ arguments: (_ name: String?) -> [String]) throws {
        guard !Self.isSanitized else { return }
        let names = try play([]).lines
        #expect(names.count > 20)
        for name in LongRun.isOn ? names.map(Optional.some) : [nil] {
            let program = try play(arguments(name))
            #expect(program.status == 0, "\(program.output)\(program.errors)")
            #expect(program.lines.count == (name == nil ? names.count : 1))
        }
    }

    @Test("No order of threads loses work, opens a lock twice or leaves a descriptor open")
    func everyOrder() throws {
        let orders = LongRun.count(400, plain: 25)
        try playAll { name in ["exhaust", "0", "\(orders)"] + (name.map { [$0] } ?? []) }
    }

    @Test("Nor does a random one, also if waits end without a reason", arguments: [[], ["--interrupts"]])
    func randomOrders(_ options: [String]) throws {
        let seed = LongRun.isOn ? UInt64.random(in: 0..<1_000_000_000) : 1
        let orders = LongRun.count(200, plain: 5)
        try playAll { name in ["random", name ?? "all", "\(seed)", "\(orders)", "4"] + options }
    }

    /// Each release of an object while a lock is held is a point here: another thread may make it the last one.
    @Test("In no order an object of the program is deallocated with a lock held, or one that takes that lock")
    func everyRelease() throws {
        guard !Self.isSanitized else { return }
        let names = try play([]).lines.filter { $0.hasPrefix("the last reference") || $0.hasSuffix("leave together") }
        let program = try play(["exhaust", "1", "600"] + names + ["--releases"])
        #expect(program.status == 0, "\(program.output)\(program.errors)")
        #expect(names.count > 10 && program.lines.count == names.count)
        #if canImport(Glibc)
            // Where the program replaces the runtime's function.
            #expect(program.lines.allSatisfy { $0.hasSuffix(", with releases") }, "\(program.output)")
        #endif
        guard LongRun.isOn else { return }
        let (seed, orders) = (UInt64.random(in: 0..<1_000_000_000), LongRun.count(60, plain: 0))
        try playAll { name in ["random", name ?? "all", "\(seed)", "\(orders)", "2", "--releases"] }
    }

    @Test("A write or a wake-up that the kernel loses is found", arguments: ["write", "wake"])
    func lostCalls(call: String) throws {
        guard !Self.isSanitized else { return }
        let program = try play(["exhaust", "0", "60", "--lose", call])
        #expect(program.status == 1 && program.output.contains("FOUND in "), "\(program.output)\(program.errors)")
    }

    /// A count that has become higher is a longer piece of code with a lock held: see docs/reliability.md.
    @Test("A sender to a port that is stopped for ever never keeps the loop waiting, another caller only with a lock")
    func stoppedCallers() throws {
        guard !Self.isSanitized else { return }
        let program = try play(["stopped"])
        #expect(program.status == 0, "\(program.output)\(program.errors)")
        #expect(program.lines.count > 10 && program.lines[0].hasSuffix("keeps the loop waiting at 0"))
    }
}
