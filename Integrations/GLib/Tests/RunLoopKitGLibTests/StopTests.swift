import RunLoopKit
import RunLoopKitGLib
import TestSupport
import Testing

/// What a stop does to a loop that a context of GLib runs.
@Suite(.timeBound) struct StopTests {
    private let loop = Loop(clock: VirtualClock())
    private let context = TestContext()
    private let log = Log<String>()

    @Test("A stop is reported once, and the loop remains attached")
    func reported() throws {
        let attachment = try loop.attach(to: context.context) { [log] in log.add("stopped") }
        loop.stop()
        context.serve()
        loop.perform { [log] in log.add("served") }
        context.serve()
        try onAnotherThread { [loop] in loop.stop() }
        context.serve()
        #expect(log.entries == ["stopped", "served", "stopped"])
        #expect(attachment.isAttached)
    }

    @Test("The handler of stops may detach the loop")
    func detaches() throws {
        let held = Log<GLibAttachment>()
        held.add(try loop.attach(to: context.context) { held.entries.first?.detach() })
        loop.stop()
        context.serve()
        #expect(held.entries.first?.isAttached == false)
        #expect(!loop.hosting.isActive)
    }

    @Test("Without a handler a stop has no effect")
    func unheard() throws {
        let attachment = try loop.attach(to: context.context)
        loop.stop()
        context.serve()
        loop.perform { [log] in log.add("served") }
        context.serve()
        #expect(log.entries == ["served"])
        attachment.detach()
    }

    @Test("A stop inside a nested run ends that run only")
    func nestedRun() throws {
        let attachment = try loop.attach(to: context.context) { [log] in log.add("stopped") }
        loop.perform { [loop, log] in
            loop.perform { loop.stop() }
            log.add("run: \(loop.run(mode: .default, for: .seconds(1)))")
        }
        context.serve()
        #expect(log.entries == ["run: stopped"])
        attachment.detach()
    }
}
