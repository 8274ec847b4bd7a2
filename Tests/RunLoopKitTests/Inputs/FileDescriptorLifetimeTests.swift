import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Ownership of descriptors, reuse of their numbers, and the time when they are closed.
@Suite(.timeBound) struct FileDescriptorLifetimeTests {
    private typealias Source = Loop.FileDescriptorSource

    @Test("A number reused behind the source's back wakes no wrong source")
    func reusedNumber() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (old, new) = (Ends.pipe(), Ends.pipe())
        let log = Log<String>()
        let stale = try Source(old.reader, trigger: .edge) { _, _ in log.add("old") }
        loop.add(stale, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        reuse(old.reader, for: new.reader)
        let fresh = try Source(old.reader) { source, _ in log.add("new \(readText(source.descriptor)!)") }
        loop.add(fresh, in: .default)
        new.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a"])
        old.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a", "old"], "its file is still watched")
        stale.interest = .write
        stale.invalidate()
        new.send("c")
        let waits = loop.counters.waits
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a", "old", "new c"], "what concerned the old file left the new one alone")
        #expect(loop.counters.waits - waits <= 3, "nothing stale keeps the loop busy")
    }

    @Test("A number closed behind the source's back leaves its file watched")
    func closedNumber() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Source.Readiness>()
        let source = try Source(pipe.reader) { source, ready in
            log.add(ready)
            source.invalidate()
        }
        loop.add(source, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        pipe.closeReader()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut && log.entries.isEmpty)
        pipe.send("a")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [.readable])
    }

    /// The owner must not allow this; but a descriptor that reuses the number is neither woken nor kept asleep by it.
    @Test("An owned number that was reused wakes its new source only")
    func reusedOwnedNumber() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (old, new) = (Ends.pipe(), Ends.pipe())
        old.isReaderClosed = true
        let log = Log<String>()
        // Its file is still open under another number, and the kernel still has the source's watch.
        let survivor = try System.duplicate(old.reader)
        defer { closeFile(survivor) }
        let stale = try Source(owning: old.reader, trigger: .edge) { _, _ in log.add("old") }
        loop.add(stale, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        reuse(old.reader, for: new.reader)
        let fresh = try Source(old.reader) { source, _ in log.add("new \(readText(source.descriptor)!)") }
        loop.add(fresh, in: .default)
        new.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a"])
    }

    @Test("A source invalidated by another's handler is not called")
    func invalidatedByAnother() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Int>()
        let all = LoopBound([Source](), on: loop)
        all.value = try (0..<2).map { index in
            try Source(pipe.reader) { source, _ in
                log.add(index)
                for source in all.value { source.invalidate() }
                #expect(!source.isValid)
            }
        }
        for source in all.value { loop.add(source, in: .default) }
        pipe.send("a")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [0])
        all.value = []
    }

    @Test("An owned descriptor is closed with its source")
    func ownedDescriptorIsClosed() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<2).map { _ in Ends.pipe() }
        for pipe in pipes { pipe.isWriterClosed = true }
        var dropped: Source? = try Source(owning: pipes[0].writer, interest: .write) { _, _ in }
        #expect(pipes[0].take() == nil && dropped?.descriptor == pipes[0].writer)
        dropped = nil
        pipes[0].waitUntilWriterIsGone()

        let invalidated = try Source(owning: pipes[1].writer, interest: .write) { source, _ in
            source.invalidate()
            #expect(source.descriptor >= 0 && pipes[1].take() == nil, "not closed under the handler's feet")
        }
        loop.add(invalidated, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(invalidated.descriptor == -1)
        pipes[1].waitUntilWriterIsGone()
    }

    @Test("An owned descriptor stays open while its handler runs on another thread")
    func openWhileTheHandlerRuns() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        pipe.isWriterClosed = true
        let (begun, invalidated) = (Gate(), Gate())
        let wasOpen = Log<Bool>()
        let source = try Source(owning: pipe.writer, interest: .write) { source, _ in
            begun.open()
            invalidated.wait()
            wasOpen.add(isOpen(source.descriptor))
        }
        thread.loop.add(source, in: .default)
        begun.wait()
        source.invalidate()
        invalidated.open()
        // The thread removes the number from the source before it closes the descriptor.
        thread.stop()
        thread.join()
        #expect(wasOpen.entries == [true] && source.descriptor == -1)
        pipe.waitUntilWriterIsGone()
    }

    @Test("A borrowed descriptor stays open, and its file is no longer held")
    func borrowedDescriptorStaysOpen() throws {
        let pipe = Ends.pipe()
        let source = try Source(pipe.writer, interest: .write) { _, _ in }
        pipe.closeWriter()
        #expect(pipe.take() == nil, "the source still has it open")
        source.invalidate()
        source.invalidate()
        pipe.waitUntilWriterIsGone()
        #expect(isOpen(pipe.reader))
        _ = try Source(pipe.reader) { _, _ in }
        #expect(isOpen(pipe.reader))
    }

    @Test("The handler's captures are released with the source")
    func capturesAreReleased() throws {
        let pipe = Ends.pipe()
        weak var captured: Count?
        let source = try { () throws in
            let count = Count()
            captured = count
            return try Source(pipe.reader) { _, _ in count.up() }
        }()
        #expect(captured != nil)
        source.invalidate()
        #expect(captured == nil)
        source.interest = .write
        source.rearm()
        #expect(!source.isValid && source.descriptor == pipe.reader)
    }
}
