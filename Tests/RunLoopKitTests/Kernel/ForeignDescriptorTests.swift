import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// A library that receives its events through a descriptor, and must be called before a thread sleeps on it and after
/// the thread has woken, as Wayland's client library: a thread announces a read, and then reads or cancels.
private final class ForeignLibrary {
    let pipe = Ends.pipe()
    private(set) var isReading = false
    private var pending = ""
    private(set) var dispatched = ""

    /// An event that does not arrive through a descriptor.
    func queue(_ event: String) { pending += event }

    /// False while there are events that have to be dispatched first.
    func prepareRead() -> Bool {
        #expect(!isReading)
        isReading = pending.isEmpty
        return isReading
    }

    /// Reads the available events, or cancels the announced read.
    func endRead() {
        #expect(isReading)
        isReading = false
        pending += pipe.take() ?? ""
    }

    func dispatchPending() {
        dispatched += pending
        pending = ""
    }
}

@Suite(.timeBound) struct ForeignDescriptorTests {
    @Test("A library that announces its reads is hosted through its descriptor")
    func announcedReads() throws {
        let (loop, _) = Loop.inVirtualTime()
        let library = LoopBound(ForeignLibrary(), on: loop)
        // The source wakes the loop; the observers do the work.
        let source = try Loop.FileDescriptorSource(library.value.pipe.reader) { _, _ in }
        loop.add(source, in: .default)
        let beforeWaiting = Loop.Observer(.beforeWaiting) { _, _ in
            while !library.value.prepareRead() { library.value.dispatchPending() }
        }
        let afterWaiting = Loop.Observer(.afterWaiting) { _, _ in
            library.value.endRead()
            library.value.dispatchPending()
        }
        for observer in [beforeWaiting, afterWaiting] { loop.add(observer, in: .default) }

        loop.add(Loop.Timer(after: .seconds(1)) { _ in library.value.pipe.send("12") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(2)) { _ in library.value.queue("3") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(3)) { _ in library.value.pipe.send("4") }, in: .default)
        loop.run(mode: .default, for: .seconds(4))
        #expect(library.value.dispatched == "1234")
        #expect(!library.value.isReading)
        source.invalidate()
    }

    @Test("A wake-up before waiting keeps the loop from sleeping")
    func wakeUpBeforeWaiting() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let source = try Loop.PortSource { _ in }
        loop.add(source, in: .default)
        let passes = Count()
        // The library has found work, three times.
        loop.add(
            Loop.Observer(.beforeWaiting) { _, _ in if passes.up() <= 3 { loop.wakeUp() } }, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in loop.stop() }, in: .default)
        loop.run()
        #expect(passes.value == 4)
        #expect(loop.counters.waits <= 1)
        #expect(loop.now == seconds(1))
    }
}
