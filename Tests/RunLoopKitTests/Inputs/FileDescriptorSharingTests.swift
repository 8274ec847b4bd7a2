import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// One source in several modes, several sources for one descriptor, and several loops.
@Suite(.timeBound) struct FileDescriptorSharingTests {
    private typealias Source = Loop.FileDescriptorSource

    /// Leftovers belong to the mode; a leftover that another mode has served meanwhile is stale.
    @Test("Readiness that another mode has served is skipped")
    func servedInAnotherMode() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (first, second) = (Ends.pipe(), Ends.pipe())
        let log = Log<String>()
        let both = try Source(second.reader) { _, _ in
            log.add("\(Loop.current.currentMode!.name): \(second.take() ?? "nothing")")
        }
        let nesting = try Source(first.reader) { _, _ in
            _ = first.take()
            Loop.current.run(mode: "inner", for: .zero)
        }
        loop.add(nesting, in: .default)
        loop.add(both, in: .default)
        loop.add(both, in: "inner")
        first.send("a")
        second.send("b")
        let passes = loop.counters.passes
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["inner: b"])
        #expect(loop.counters.passes == passes + 3, "one that nests, the nested one, and one that times out")
        second.send("c")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["inner: b", "default: c"])
    }

    /// The two threads are not ordered by anything but the library's locks: for ThreadSanitizer.
    @Test("A source is armed while it moves from loop to loop")
    func armedWhileItMoves() throws {
        let loops = (0..<2).map { _ in Loop.inVirtualTime().0 }
        for loop in loops { try loop.prepare(.default) }
        let pipe = Ends.pipe()
        let log = Log<String?>()
        let source = try Source(pipe.reader, isOneShot: true) { _, _ in log.add(pipe.take()) }
        let (hasBegun, isOver) = (Gate(), UnorderedFlag())
        let arming = try System.startThread(stackSize: nil) {
            hasBegun.open()
            repeat {
                source.disarm()
                source.rearm()
            } while !isOver.isSet
        }
        hasBegun.wait()
        for round in 0..<500 {
            loops[round % 2].add(source)
            loops[round % 2].remove(source)
        }
        isOver.set()
        System.join(arming)
        loops[0].add(source)
        pipe.send("a")
        loops[0].run(for: .zero)
        #expect(log.entries == ["a"])
    }

    /// Each mode has an epoll set of its own, and each has to apply a change.
    @Test("A change takes effect in every mode that has run")
    func changeInEveryMode() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<String>()
        let source = try Source(sockets.reader) { _, ready in
            log.add("\(Loop.current.currentMode!.name): \(ready)")
            Loop.current.stop()
        }
        let modes: [Loop.Mode] = ["one", "two", "three"]
        func runAll() { for mode in modes { loop.run(mode: mode, for: .seconds(1)) } }
        for mode in modes { loop.add(source, in: mode) }
        runAll()
        source.interest = .write
        runAll()
        source.disarm()
        runAll()
        source.rearm()
        runAll()
        loop.remove(source, in: "two")
        source.interest = []
        runAll()
        loop.add(source, in: "two")
        source.interest = .write
        runAll()
        let once = modes.map { "\($0.name): writable" }
        #expect(log.entries == once + once + once)
    }

    @Test("Readiness that a stop left unserved is served by the next run")
    func leftByAStop() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<3).map { _ in Ends.pipe() }
        let log = Log<Int>()
        for (index, pipe) in pipes.enumerated() {
            let source = try Source(pipe.reader) { _, _ in
                _ = pipe.take()
                log.add(index)
                Loop.current.stop()
            }
            loop.add(source, in: .default)
            pipe.send("a")
        }
        for count in 1...3 {
            #expect(loop.run(mode: .default, for: .seconds(1)) == .stopped)
            #expect(log.entries.count == count)
        }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [0, 1, 2])
    }

    @Test("One descriptor can have a source for reading and one for writing")
    func readingAndWriting() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<String>()
        let writing = try Source(sockets.reader, interest: .write) { source, ready in
            log.add("\(ready)")
            source.disarm()
        }
        let reading = try Source(sockets.reader) { source, ready in log.add("\(ready) \(readText(source.descriptor)!)")
        }
        loop.add(writing, in: .default)
        loop.add(reading, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        sockets.send("a")
        loop.run(mode: .default, for: .seconds(1))
        writing.invalidate()
        sockets.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["writable", "readable a", "readable b"])
    }

    @Test("A source is in one loop at a time")
    func oneLoopAtATime() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<ObjectIdentifier>()
        let source = try Source(pipe.reader) { _, _ in
            _ = pipe.take()
            log.add(ObjectIdentifier(Loop.current))
        }
        #expect(one.add(source, in: .default))
        #expect(!two.add(source, in: .default))
        one.end()
        #expect(source.isValid && two.add(source, in: .default))
        pipe.send("a")
        two.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [ObjectIdentifier(two)])
    }
}
