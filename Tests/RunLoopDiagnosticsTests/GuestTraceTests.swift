import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@testable import RunLoopDiagnostics

/// A host's thread has spans of the host and of its guests.
@Suite(.timeBound) struct GuestTraceTests {
    @Test("A guest that is detached leaves its host's spans open", arguments: [true, false])
    func detachedGuest(_ beginsInHandler: Bool) throws {
        let (host, guest) = (Loop.inVirtualTime().0, Loop.inVirtualTime().0)
        let clock = VirtualClock(.manual)
        let tracer = LoopTracer(clock: clock)
        for loop in [host, guest] { tracer.attach(to: loop) }
        if !beginsInHandler { _ = try guest.hosting.begin() }
        clock.advance(by: .milliseconds(1))
        host.perform(label: "server") {
            clock.advance(by: .milliseconds(1))
            if beginsInHandler { _ = try! guest.hosting.begin() }
            while guest.hosting.pass() == .more {}
            guest.perform(label: "served") { clock.advance(by: .milliseconds(2)) }
            while guest.hosting.pass() == .more {}
            host.perform(in: "nested", label: "inside") {
                clock.advance(by: .milliseconds(4))
                tracer.detach(from: guest)
                clock.advance(by: .milliseconds(8))
            }
            host.run(mode: "nested", for: .zero)
            clock.advance(by: .milliseconds(16))
        }
        host.perform(label: "next") { clock.advance(by: .milliseconds(32)) }
        host.run(mode: .default, for: .zero)
        guest.hosting.end()
        let trace = tracer.snapshot()
        let calls = trace.spans.filter { $0.handler?.kind == .block }
        #expect(calls.map { $0.handler?.name } == ["\"server\"", "\"served\"", "\"inside\"", "\"next\""])
        #expect(calls.map(\.duration) == [31, 2, 12, 32].map { .milliseconds($0) })
        #expect(calls.map(\.isOpen) == [false, false, false, false])
        #expect(calls[1...].map(\.ownTime) == [2, 12, 32].map { .milliseconds($0) })
        let runs = trace.spans.filter { if case .run = $0.kind { true } else { false } }
        #expect(runs.map(\.isOpen) == runs.map { $0.loop == 1 })
        #expect(nest(slices(in: try chromeEvents(trace))))
        // Each time counts once.
        let total = trace.spans.map(\.ownTime).reduce(.zero, +)
        #expect(total == trace.start.duration(to: trace.end))
    }
}
