import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Where a box releases its value: a C library's handle may be closed on one thread only.
@Suite(.timeBound) struct LoopBoundTests {
    private final class Handle {
        let close: @Sendable () -> Void
        init(_ close: @escaping @Sendable () -> Void) { self.close = close }
        deinit { close() }
    }

    @Test("The loop's thread releases the value, whichever thread releases the box")
    func releasedOnItsThread() throws {
        let worker = try LoopThread(name: "owner")
        let loop = worker.loop
        let log = Log<Bool>()
        for _ in 0..<100 {
            var box: LoopBound<Handle>? = LoopBound(Handle { log.add(loop.isOnOwnThread) }, on: loop)
            _ = box
            box = nil
        }
        worker.stop()
        worker.join()
        #expect(log.entries == Array(repeating: true, count: 100))
    }

    @Test("So does that of a thread that was stopped and has not ended")
    func releasedAfterTheStop() throws {
        let worker = try LoopThread(name: "stopped")
        let loop = worker.loop
        let gate = Gate()
        worker.perform { gate.wait() }
        let log = Log<Bool>()
        var box: LoopBound<Handle>? = LoopBound(Handle { log.add(loop.isOnOwnThread) }, on: loop)
        worker.stop()
        _ = box
        box = nil
        gate.open()
        worker.join()
        #expect(log.entries == [true])
    }

    @Test("The value is released before anybody learns of the end, even one who has waited longer")
    func releasedBeforeTheEnd() async throws {
        let worker = try LoopThread(name: "stopped")
        let loop = worker.loop
        let (gate, log) = (Gate(), Log<String>())
        worker.perform { gate.wait() }
        // As `waitForEnd()` does.
        let promise = Promise<Void>()
        #expect(loop.afterEnd { promise.fulfil(.success(log.add("ended"))) } != nil)
        var box: LoopBound<Handle>? = LoopBound(
            Handle { log.add(loop.isOnOwnThread ? "released" : "elsewhere") }, on: loop)
        worker.stop()
        _ = box
        box = nil
        gate.open()
        try await promise.value {}
        #expect(log.entries == ["released", "ended"])
    }

    @Test("On its thread the value is released with the box")
    func releasedAtOnce() {
        let (loop, _) = Loop.inVirtualTime()
        let count = Count()
        do { _ = LoopBound(Handle { count.up() }, on: loop) }
        #expect(count.value == 1 && loop.waitingBlocks == 0)
    }

    @Test("A value of a loop that has ended, or drops its blocks, is released once")
    func loopHasEnded() throws {
        let count = Count()
        let worker = try LoopThread(name: "stopped")
        let gate = Gate()
        worker.perform { gate.wait() }
        do { _ = LoopBound(Handle { count.up() }, on: worker.loop) }
        worker.stop(discardingPending: true)
        do { _ = LoopBound(Handle { count.up() }, on: worker.loop) }
        gate.open()
        worker.join()
        do { _ = LoopBound(Handle { count.up() }, on: worker.loop) }
        #expect(count.value == 3)
    }

    @Test("A box that lives on loses its value to the loop's end, after the end handlers", arguments: [false, true])
    func boxLivesOn(_ dropsBlocks: Bool) throws {
        let worker = try LoopThread(name: "ended")
        let loop = worker.loop
        let log = Log<String>()
        let note: @Sendable (String) -> Void = { log.add(loop.isOnOwnThread ? $0 : "\($0) elsewhere") }
        let boxes = (0..<3).map { number in LoopBound(Handle { note("\(number) released") }, on: loop) }
        loop.onEnd {
            withExtendedLifetime(boxes[0].value) {}
            note("still there")
        }
        worker.stop(discardingPending: dropsBlocks)
        worker.join()
        #expect(log.entries == ["still there", "2 released", "1 released", "0 released"])
        withExtendedLifetime(boxes) {}
    }

    @Test("A loop in virtual time releases its values by end(); deallocated, it leaves them to the boxes")
    func virtualLoops() {
        let count = Count()
        let (loop, _) = Loop.inVirtualTime()
        let box = LoopBound(Handle { count.up() }, on: loop)
        loop.end()
        #expect(count.value == 1)
        var other: LoopBound<Handle>?
        do {
            let (loop, _) = Loop.inVirtualTime()
            other = LoopBound(Handle { count.up() }, on: loop)
        }
        #expect(count.value == 1)
        other = nil
        #expect(count.value == 2)
        withExtendedLifetime((box, other)) {}
    }

    /// Under AddressSanitizer it shows that the loop does not touch what has gone.
    @Test("A box in a handler, or a block, of a loop in virtual time goes with the loop", arguments: [false, true])
    func inAHandler(_ isBlock: Bool) {
        let count = Count()
        for _ in 0..<100 {
            let (loop, _) = Loop.inVirtualTime()
            let box = LoopBound(Handle { count.up() }, on: loop)
            if isBlock {
                loop.perform { withExtendedLifetime(box.value) {} }
            } else {
                loop.add(Loop.Timer(after: .seconds(1)) { _ in withExtendedLifetime(box.value) {} })
            }
        }
        #expect(count.value == 100)
    }

    @Test("At the end a value's deinit can use what was boxed before it")
    func usesOlderBox() throws {
        let worker = try LoopThread(name: "ended")
        let (count, gate) = (Count(), Gate())
        // Leaves a free slot.
        var other: LoopBound<[String]>? = LoopBound([], on: worker.loop)
        let texts = LoopBound<[String]>([], on: worker.loop)
        _ = other
        other = nil
        try worker.performAndWait {}
        var box: LoopBound<Handle>? = LoopBound(
            Handle {
                texts.value.append("closed")
                count.up()
            }, on: worker.loop)
        worker.perform { gate.wait() }
        worker.stop()
        _ = box
        box = nil
        gate.open()
        worker.join()
        #expect(count.value == 1)
    }

    @Test("A value that refers to its loop does not keep it alive")
    func refersToLoop() {
        weak var released: Loop?
        var box: LoopBound<[Loop]>?
        do {
            let (loop, _) = Loop.inVirtualTime()
            box = LoopBound([], on: loop)
            released = loop
        }
        #expect(released == nil)
        withExtendedLifetime(box) {}
    }

    @Test("Who begins to wait for the end while the value is released waits for that, too")
    func waitBeginsDuringTheRelease() throws {
        let worker = try LoopThread(name: "stopped")
        let (hasBegun, gate, log) = (Gate(), Gate(), Log<String>())
        worker.perform {
            hasBegun.open()
            gate.wait()
        }
        hasBegun.wait()
        var box: LoopBound<Handle>? = LoopBound(
            Handle { [weak loop = worker.loop] in
                // As waitForEnd() does, on any thread.
                #expect(loop?.afterEnd { log.add("ended") } != nil)
                log.add("released")
            }, on: worker.loop)
        worker.stop()
        _ = box
        box = nil
        gate.open()
        worker.join()
        #expect(log.entries == ["released", "ended"])
    }

    @Test("A box without a value to release posts nothing")
    func nothingToRelease() throws {
        let worker = try LoopThread(name: "asleep")
        let (hasBegun, gate) = (Gate(), Gate())
        worker.perform {
            hasBegun.open()
            gate.wait()
        }
        hasBegun.wait()
        do { _ = LoopBound(1, on: worker.loop) }
        #expect(worker.loop.waitingBlocks == 0)
        gate.open()
        worker.stop()
        worker.join()
    }
}
