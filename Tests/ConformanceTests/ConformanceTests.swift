import Testing

/// Every scenario, on RunLoopKit and on the toolchain's CFRunLoop: the traces are the same.
@Suite struct ConformanceTests {
    @Test(arguments: Scenario.all)
    func sameTraceAsCFRunLoop(_ scenario: Scenario) {
        let expected = Stage.trace(of: scenario) { CFSubject() }
        let actual = Stage.trace(of: scenario) { KitSubject() }
        #expect(!expected.isEmpty, "a scenario without a trace shows nothing")
        #expect(actual == expected)
    }
}

extension Scenario {
    static let all = running + blocks + sources + timers + observers + modes
}
