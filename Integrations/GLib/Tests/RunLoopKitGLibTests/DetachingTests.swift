import CRunLoopKitGLib
import RunLoopKit
import RunLoopKitGLib
import TestSupport
import Testing

/// How an attachment ends.
@Suite(.timeBound) struct DetachingTests {
    private let loop = Loop(clock: VirtualClock())
    private let context = TestContext()
    private let log = Log<String>()

    @Test("The release of the attachment detaches the loop, which can be attached again")
    func release() throws {
        for time in ["first", "second"] {
            var attachment: GLibAttachment? = try loop.attach(to: context.context)
            #expect(loop.hosting.isActive && attachment?.isAttached == true)
            loop.perform { [log] in log.add(time) }
            context.serve()
            attachment = nil
            #expect(!loop.hosting.isActive)
        }
        loop.perform { [log] in log.add("run") }
        #expect(context.serve() == 0)
        #expect(log.entries == ["first", "second"])
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["first", "second", "run"])
    }

    @Test("A loop that is detached in a handler is attached until the handler returns")
    func inAHandler() throws {
        let attachment = try loop.attach(to: context.context) { [log] in log.add("stopped") }
        loop.perform { [loop, log] in
            attachment.detach()
            log.add(attachment.isAttached ? "attached" : "detached")
            log.add(loop.hosting.isActive ? "hosted" : "not hosted")
        }
        context.serve()
        #expect(log.entries == ["detached", "hosted"])
        #expect(!loop.hosting.isActive)
        // Has no effect.
        attachment.detach()
    }

    @Test("A loop can be detached by a handler that another handler waits for")
    func inANestedHandler() throws {
        let attachment = try loop.attach(to: context.context)
        loop.perform { [loop, log, context] in
            loop.perform {
                attachment.detach()
                log.add("detached")
            }
            while log.entries.isEmpty { g_main_context_iteration(context.pointer, 1) }
        }
        context.serve()
        #expect(log.entries == ["detached"])
        #expect(!loop.hosting.isActive)
    }

    @Test("A release on another thread takes effect when the context is iterated")
    func onAnotherThread() throws {
        let held = Log<GLibAttachment>()
        do {
            let attachment = try loop.attach(to: context.context)
            try RunLoopKitGLibTests.onAnotherThread { attachment.detach() }
            #expect(attachment.isAttached && loop.hosting.isActive)
            held.add(attachment)
        }
        context.serve()
        #expect(held.entries.first?.isAttached == false)
        #expect(!loop.hosting.isActive)
    }

    @Test("The end of the loop's thread ends the attachment")
    func endOfTheLoop() throws {
        let held = Log<GLibAttachment>()
        try RunLoopKitGLibTests.onAnotherThread { [context] in
            held.add(try Loop.current.attach(to: context.context))
            context.serve()
        }
        #expect(held.entries.first?.isAttached == false)
        // Nothing watches the descriptors, which are closed.
        #expect(context.serve() == 0)
    }

    @Test("The context's end ends the attachment")
    func endOfTheContext() throws {
        let context = g_main_context_new()!
        let attachment = try loop.attach(to: GLibContext(context))
        g_main_context_unref(context)
        #expect(!attachment.isAttached && !loop.hosting.isActive)
        loop.perform { [log] in log.add("run") }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["run"])
    }

    @Test("A context that another thread frees leaves a loop that has to run once")
    func contextFreedElsewhere() throws {
        let context = g_main_context_new()!
        let attachment = try loop.attach(to: GLibContext(context))
        let held = GLibContext(context)
        try RunLoopKitGLibTests.onAnotherThread { g_main_context_unref(held.pointer) }
        #expect(!attachment.isAttached && loop.hosting.isActive)
        loop.run(mode: .default, for: .zero)
        #expect(!loop.hosting.isActive)
    }

    @Test("Nothing retains what an attachment refers to once it has ended")
    func nothingLeaks() throws {
        final class Owner {}
        weak var owner: Owner?
        do {
            let made = Owner()
            owner = made
            let attachment = try loop.attach(to: context.context) { withExtendedLifetime(made) {} }
            context.serve()
            attachment.detach()
            #expect(!attachment.isAttached)
        }
        #expect(owner == nil)
    }

    // MARK: Refusals

    @Test("Attaching a loop twice traps")
    func twice() async {
        await #expect(processExitsWith: .failure) {
            let loop = Loop(clock: VirtualClock())
            let attachment = try loop.attach(to: .default)
            _ = try loop.attach(to: GLibContext(g_main_context_new()))
            attachment.detach()
        }
    }

    @Test("A context that another thread iterates traps")
    func iteratedElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let context = TestContext()
            let attachment = try Loop(clock: VirtualClock()).attach(to: context.context)
            try RunLoopKitGLibTests.onAnotherThread { context.serve() }
            attachment.detach()
        }
    }

    @Test("Without descriptors attaching throws, and the loop is not attached")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            let loop = Loop(clock: VirtualClock())
            let context = GLibContext(g_main_context_new())
            let refused = withoutDescriptors { try? loop.attach(to: context) }
            #expect(refused == nil)
            #expect(!loop.hosting.isActive)
            let attachment = try loop.attach(to: context)
            #expect(attachment.isAttached)
        }
    }
}
