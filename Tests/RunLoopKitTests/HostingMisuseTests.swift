import TestSupport
import Testing

@testable import RunLoopKit

/// What hosting refuses, and what becomes of a hosted loop whose thread ends.
@Suite(.timeBound) struct HostingMisuseTests {
    @Test func hostingTwiceTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            _ = try loop.beginHosting()
            _ = try loop.beginHosting(.tracking)
        }
    }

    @Test func hostingInCommonTraps() async {
        await #expect(processExitsWith: .failure) { _ = try Loop(clock: VirtualClock()).beginHosting(.common) }
    }

    @Test func hostingInsideARunTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            loop.perform { _ = try? loop.beginHosting() }
            loop.run(mode: .default, for: .zero)
        }
    }

    @Test func aPassOfALoopThatIsNotHostedTraps() async {
        await #expect(processExitsWith: .failure) { Loop(clock: VirtualClock()).hostedPass() }
    }

    @Test func aPassOnAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            _ = try loop.beginHosting()
            try onThreadOfItsOwn { loop.hostedPass() }
        }
    }

    @Test func hostingAnEndedLoopTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            loop.end()
            _ = try loop.beginHosting()
        }
    }

    @Test func aThreadMayEndWhileItsLoopIsHosted() throws {
        let log = Log<String>()
        try onThreadOfItsOwn {
            let source = Loop.Source0(cancel: { _, _ in log.add("cancelled") }, perform: {})
            Loop.current.add(source, in: .default)
            try Host(Loop.current).serve()
        }
        #expect(log.entries == ["cancelled"])
    }
}
