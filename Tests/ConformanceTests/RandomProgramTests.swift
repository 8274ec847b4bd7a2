import Foundation
import TestSupport
import Testing

/// Random programs leave the same trace on RunLoopKit and on the toolchain's CFRunLoop.
///
/// A seed always makes the same program. No program depends on time: a run either only polls, or a guard in every mode
/// ends it instead of letting it sleep. A program cannot show the differences of `docs/differences.md`; see `Flavour`.
@Suite(.timeBound) struct RandomProgramTests {
    @Test("A random program leaves the same trace on RunLoopKit and on CFRunLoop", arguments: Flavour.allCases)
    func sameTraceAsCFRunLoop(_ flavour: Flavour) {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["RANDOM_PROGRAMS"].flatMap { UInt64($0) } ?? 150
        let first = environment["RANDOM_SEED"].flatMap { UInt64($0) } ?? 1
        var failures = 0
        for seed in first..<(first + count) {
            let program = RandomProgram(seed: seed, flavour)
            guard program.differs else { continue }
            let small = program.shrunk(while: \.differs)
            Issue.record("\(flavour), seed \(seed)\n\(small)\n\(small.comparison)")
            failures += 1
            if failures == (environment["RANDOM_FAILURES"].flatMap { Int($0) } ?? 1) { return }
        }
    }
}
