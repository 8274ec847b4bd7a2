import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Each system call of the library fails, with each error of the manual: see `FaultProgram`.
///
/// Here the first call of each kind fails once, with its first error. A long run plays all: the first three calls and
/// the last, every error, once and for ever.
@Suite(.timeBoundFromTheStart) struct FaultTests {
    private static let shares = LongRun.isOn ? 16 : 2

    @Test("A call that fails has a documented answer, and its loop works afterwards", arguments: 0..<shares)
    func everyCall(share: Int) throws {
        // A sanitizer has threads of its own, which no forked child has.
        guard !["__tsan_init", "__asan_init"].contains(where: { (symbol: String) in dlsym(nil, symbol) != nil }) else {
            return
        }
        let program = try Program.run(
            "FaultProgram", ["play", LongRun.isOn ? "all" : "quick", "\(share)", "\(Self.shares)"],
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        let summary = program.lines.last ?? ""
        #expect(program.status == 0 && summary.hasSuffix(", 0 bad ends"), "\(program.output)\(program.errors)")
        // That the faults were met at all.
        let counts = summary.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
        #expect(counts.count == 8 && counts[1] > 20 && counts[2] > 50 && counts[3] * 5 < counts[2], "\(summary)")
    }
}
