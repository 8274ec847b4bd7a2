import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// An invalidated item leaves nothing behind.
@Suite(.timeBound) struct InvalidItemTests {
    /// An object that handlers capture.
    private final class Captured: Sendable {}

    @Test("An item invalidated while it leaves releases its handlers once it has left")
    func invalidatedWhileLeaving() {
        let (loop, _) = Loop.inVirtualTime()
        weak var captured: Captured?
        let cancelled = Count()
        let source = { () -> Loop.Source0 in
            let (object, itself) = (Captured(), Box<Loop.Source0>())
            captured = object
            let source = Loop.Source0(
                cancel: { _, _ in
                    itself.value?.invalidate()
                    itself.value = nil
                    withExtendedLifetime(object) { _ = cancelled.up() }
                }, perform: {})
            itself.value = source
            return source
        }()
        loop.add(source)
        #expect(captured != nil)
        loop.remove(source)
        #expect(!source.isValid && !loop.contains(source))
        #expect(captured == nil, "released by the end of remove, though the source lives on")
        #expect(cancelled.value == 1)
        withExtendedLifetime(source) {}
    }

    @Test("An invalid item that is added makes no mode")
    func makesNoMode() {
        let (loop, _) = Loop.inVirtualTime()
        let source = Loop.Source0 {}
        source.invalidate()
        #expect(!loop.add(source, in: "other") && loop.modes == [.default])
    }

    @Test("A loop retains nothing of invalid items that were in common")
    func invalidCommonItems() throws {
        let (loop, _) = Loop.inVirtualTime()
        loop.addCommonMode("other")
        let makers: [() throws -> Loop.Item] = [
            { Loop.Source0 {} }, { Loop.Timer(after: .seconds(1)) { _ in } }, { Loop.Observer { _, _ in } },
            { try Loop.PortSource { _ in } }, { Loop.MessagePort<Int> { _ in } },
        ]
        for (number, make) in makers.enumerated() {
            weak var item: Loop.Item?
            do {
                let made = try make()
                item = made
                #expect(loop.add(made, in: .common))
                made.invalidate()
                #expect(!loop.contains(made, in: .common))
            }
            #expect(item == nil, "number \(number)")
        }
    }
}
