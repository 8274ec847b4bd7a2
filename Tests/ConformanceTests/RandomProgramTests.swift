import Foundation
import TestSupport
import Testing

/// Random programs leave the same trace on RunLoopKit, on the toolchain's CFRunLoop and on the reference loop.
///
/// A seed always makes the same program. No program for CFRunLoop depends on time: a run either only polls, or a guard
/// in every mode ends it instead of letting it sleep. Nor can it show the differences of `docs/differences.md`: these
/// are in the programs for the reference loop. See `Flavour`.
@Suite(.timeBound) struct RandomProgramTests {
    @Test("A random program leaves the same trace on RunLoopKit and on CFRunLoop", arguments: Flavour.asOnCF)
    func sameTraceAsCFRunLoop(_ flavour: Flavour) {
        search(150, flavour, for: \.differs, showing: \.comparison)
    }

    @Test(
        "A random program leaves the same trace on RunLoopKit and on the reference loop", arguments: Flavour.allCases,
        [false, true])
    func sameTraceAsReferenceLoop(_ flavour: Flavour, _ prefersCommon: Bool) {
        // The other flavours are for CFRunLoop.
        let count = programCount(flavour == .everything ? 200 : 20)
        search(
            count, flavour, prefersCommon: prefersCommon, for: \.differsFromReference,
            showing: \.comparisonWithReference)
    }

    /// What is in which mode, when a timer fires, a description: whoever asks changes no callout.
    @Test("A random program leaves the same trace whatever is asked between its steps", arguments: Flavour.allCases)
    func sameTraceWhateverIsAsked(_ flavour: Flavour) {
        // Those of everything are long.
        let count = programCount(flavour == .everything ? 100 : 1000)
        search(
            count, flavour, prefersCommon: true, for: \.dependsOnQuestions,
            showing: \.comparisonOfQuestions)
    }

    private func search(
        _ count: UInt64, _ flavour: Flavour, prefersCommon: Bool = false, for fails: (RandomProgram) -> Bool,
        showing story: (RandomProgram) -> String
    ) {
        let environment = ProcessInfo.processInfo.environment
        guard environment["RANDOM_FLAVOUR"].map({ $0 == flavour.rawValue }) ?? true else { return }
        let count = environment["RANDOM_PROGRAMS"].flatMap { UInt64($0) } ?? count
        let first = environment["RANDOM_SEED"].flatMap { UInt64($0) } ?? 1
        var failures = 0
        for seed in first..<(first + count) {
            let program = RandomProgram(seed: seed, flavour, prefersCommon: prefersCommon)
            guard fails(program) else { continue }
            let small = program.shrunk(while: fails)
            Issue.record("\(flavour), seed \(seed)\n\(small)\n\(story(small))")
            failures += 1
            if failures == (environment["RANDOM_FAILURES"].flatMap { Int($0) } ?? 1) { return }
        }
    }
}
