import CRunLoopKitGLib
import Foundation
import ProgramSupport
import RunLoopKit
import RunLoopKitGLib
import TestSupport
import Testing

/// What a context of GLib serves. In virtual time, so that nothing waits, unless threads are what the test is about.
@Suite(.timeBound) struct AttachingTests {
    private let loop = Loop(clock: VirtualClock())
    private let context = TestContext()

    @Test("Timers keep their times")
    func timers() throws {
        let attachment = try loop.attach(to: context.context)
        let log = Log<String>()
        let timer = Loop.Timer(every: .seconds(2)) { [loop] firing in
            log.add("\(loop.now.nanoseconds / 1_000_000_000) s")
            if log.entries.count == 3 { firing.timer.invalidate() }
        }
        loop.add(timer)
        context.serve()
        #expect(log.entries == ["2 s", "4 s", "6 s"])
        attachment.detach()
    }

    @Test("A limiter acts")
    func limiter() throws {
        let attachment = try loop.attach(to: context.context)
        let log = Log<String>()
        let search = Debounce<String>(interval: .milliseconds(300), on: loop) { log.add($0) }
        for text in ["G", "GL", "GLi", "GLib"] { search(text) }
        context.serve()
        #expect(log.entries == ["GLib"])
        attachment.detach()
    }

    @Test("Only what is in the mode is served")
    func mode() throws {
        loop.addCommonMode(.tracking)
        let attachment = try loop.attach(to: context.context, mode: .tracking)
        let log = Log<String>()
        for mode: Loop.Mode in [.default, .tracking, .common] { loop.perform(in: mode) { log.add(mode.name) } }
        context.serve()
        #expect(log.entries == ["tracking", "common"])
        #expect(loop.currentMode == .tracking)
        attachment.detach()
        #expect(loop.currentMode == nil)
    }

    @Test("The priority orders the loop among GLib's sources", arguments: [true, false])
    func priority(_ isHigher: Bool) throws {
        let attachment = try loop.attach(to: context.context, priority: isHigher ? -1 : 1)
        context.serve()
        let log = Log<String>()
        loop.perform { log.add("loop") }
        let idle = g_idle_source_new()
        g_source_set_priority(idle, 0)
        g_source_set_callback(
            idle,
            {
                Unmanaged<Log<String>>.fromOpaque($0!).takeUnretainedValue().add("idle")
                return 0  // G_SOURCE_REMOVE
            }, Unmanaged.passUnretained(log).toOpaque(), nil)
        g_source_attach(idle, context.pointer)
        g_source_unref(idle)
        context.serve()
        #expect(log.entries == (isHigher ? ["loop", "idle"] : ["idle", "loop"]))
        attachment.detach()
    }

    @Test("Posts from another thread wake a context that sleeps")
    func posts() throws {
        let log = Log<Int>()
        let context = context
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            let poster = try LoopThread(name: "poster")
            for number in 1...3 { poster.perform { loop.perform { log.add(number) } } }
            context.serve(until: log.entries.count == 3)
            attachment.detach()
        }
        #expect(log.entries == [1, 2, 3])
    }

    @Test("Ports, descriptors and timers of a thread's own loop wake a context that sleeps")
    func inputs() throws {
        let log = Log<String>()
        let context = context
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            let port = try Loop.PortSource { _ in log.add("port") }
            loop.add(port)
            let pipe = Pipe()
            let source = try Loop.FileDescriptorSource(pipe.fileHandleForReading.fileDescriptor) { source, _ in
                log.add("descriptor")
                source.invalidate()
                port.send()
            }
            loop.add(source)
            loop.add(
                Loop.Timer(after: .milliseconds(1)) { _ in
                    log.add("timer")
                    pipe.fileHandleForWriting.write(Data([0]))
                })
            context.serve(until: log.entries.count == 3)
            attachment.detach()
        }
        #expect(log.entries == ["timer", "descriptor", "port"])
    }

    @Test("A handler that iterates the context is served itself, and a timer and a post in it")
    func nestedIteration() throws {
        let log = Log<String>()
        let context = context
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            let poster = try LoopThread(name: "poster")
            loop.perform {
                log.add("dialog")
                loop.add(
                    Loop.Timer(after: .milliseconds(1)) { _ in
                        log.add("timer")
                        poster.perform { loop.perform { log.add("post") } }
                    })
                context.serve(until: log.entries.count == 3)
                log.add("dialog ends")
            }
            context.serve(until: log.entries.count == 4)
            #expect(context.serve() == 0)
            attachment.detach()
        }
        #expect(log.entries == ["dialog", "timer", "post", "dialog ends"])
    }

    @Test("On the initial thread the main actor and the main queue run beside GLib")
    func mainThread() throws {
        let program = try Program.run("GLibExample", [])
        let kinds = program.lines.dropLast().map { $0.split(separator: ": ").last ?? "" }
        for kind in ["GLib timeout", "Loop timer", "@MainActor", "DispatchQueue.main"] {
            #expect(kinds.count { $0 == kind } == 3, "\(program.output)")
        }
        #expect(program.status == 0, "\(program.errors)")
    }
}
