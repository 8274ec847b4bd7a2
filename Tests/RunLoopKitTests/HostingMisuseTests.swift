import TestSupport
import Testing

@testable import RunLoopKit

/// Misuse of hosting, and hosted loops whose thread ends.
@Suite(.timeBound) struct HostingMisuseTests {
    @Test("Hosting twice traps")
    func hostingTwice() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            _ = try loop.beginHosting()
            _ = try loop.beginHosting(.tracking)
        }
    }

    @Test("Hosting in common traps")
    func hostingInCommon() async {
        await #expect(processExitsWith: .failure) { _ = try Loop(clock: VirtualClock()).beginHosting(.common) }
    }

    @Test("Hosting inside a run traps")
    func hostingInsideARun() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            loop.perform { _ = try? loop.beginHosting() }
            loop.run(mode: .default, for: .zero)
        }
    }

    @Test("A pass of a loop that is not hosted traps")
    func passWithoutHosting() async {
        await #expect(processExitsWith: .failure) { Loop(clock: VirtualClock()).hostedPass() }
    }

    @Test("A pass on another thread traps")
    func passOnAnotherThread() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            _ = try loop.beginHosting()
            try onThreadOfItsOwn { loop.hostedPass() }
        }
    }

    @Test("Hosting an ended loop traps")
    func endedLoop() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            loop.end()
            _ = try loop.beginHosting()
        }
    }

    @Test("A thread may end while its loop is hosted")
    func threadEnds() throws {
        let log = Log<String>()
        try onThreadOfItsOwn {
            let source = Loop.Source0(cancel: { _, _ in log.add("cancelled") }, perform: {})
            Loop.current.add(source, in: .default)
            try Host(Loop.current).serve()
        }
        #expect(log.entries == ["cancelled"])
    }
}
