import ConformanceSupport
import TestSupport
import Testing

/// Every scenario leaves the same trace on RunLoopKit, on the toolchain's CFRunLoop and on the reference loop.
@Suite(.timeBound) struct ConformanceTests {
    @Test("A scenario leaves the same trace on RunLoopKit and on CFRunLoop", arguments: Scenario.all)
    func sameTraceAsCFRunLoop(_ scenario: Scenario) {
        let actual = Stage.trace(of: scenario, moment: 0.02) { KitSubject() }
        #expect(!actual.isEmpty, "a scenario without a trace shows nothing")
        // CFRunLoop plays in real time: on a machine that stalls for longer than the scenario's moments it may see
        // events together that the scenario separates. So it gets longer moments before the test reports a difference.
        var expected: [String] = []
        for moment in [0.02, 0.1, 0.5, 2] {
            expected = Stage.trace(of: scenario, moment: moment) { CFSubject() }
            if actual == expected { return }
        }
        #expect(actual == expected)
    }

    @Test("A scenario leaves the same trace on RunLoopKit and on the reference loop", arguments: Scenario.all)
    func sameTraceAsReferenceLoop(_ scenario: Scenario) {
        let actual = Stage.trace(of: scenario, moment: 0.02) { KitSubject() }
        #expect(actual == Stage.trace(of: scenario, moment: 0.02) { ReferenceSubject() })
    }
}

extension Scenario: CustomTestStringConvertible {
    /// The title.
    public var testDescription: String { title }
}

extension Scenario {
    static let all = running + blocks + sources + timers + observers + modes
}
