import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// The names of items in a trace.
@Suite(.timeBound) struct TraceNameTests {
    @Test("An item made at the address of another one has a name of its own")
    func identity() {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        for round in 0..<50 {
            let item =
                round.isMultiple(of: 2) ? Loop.Source0 {} : Loop.Timer(after: .seconds(1)) { _ in } as Loop.Item
            loop.add(item, in: .default)
            (item as? Loop.Source0)?.signal()
            loop.run(mode: .default, for: .seconds(2))
            item.invalidate()
        }
        let trace = tracer.snapshot()
        #expect(trace.handlers.count == 2)
        #expect(trace.handlers.allSatisfy { $0.handler.kind == .timer ? $0.handler.name.hasPrefix("timer (") : true })
        #expect(
            trace.handlers.allSatisfy { $0.handler.kind == .source0 ? $0.handler.name.hasPrefix("source 0 (") : true })
    }

    private final class CountingItem: Loop.Item, @unchecked Sendable {
        let asked = Count()
        override var kind: String {
            asked.up()
            return "item"
        }
    }

    @Test("Of items that are too many for a tracer no name is made")
    func tooManyItems() {
        let names = TraceNames()
        let items = (0..<2050).map { _ in CountingItem() }
        for item in items { item.invalidate() }
        for item in items { _ = names.entered(item) }
        #expect(items.count { $0.asked.value > 0 } == 2048)
        #expect(names.entered(items[2047]) == 2048 && names.entered(items[2048]) == 0)
        #expect(items[2048].asked.value == 0)
    }

    @Test("A tracer keeps neither loops nor items alive")
    func lifetimes() {
        let tracer = LoopTracer()
        weak var item: Loop.Item?
        weak var loop: Loop?
        do {
            let (made, _) = Loop.inVirtualTime()
            tracer.attach(to: made)
            let source = Loop.Source0 {}
            made.add(source, in: .default)
            source.signal()
            made.run(mode: .default, for: .zero)
            (loop, item) = (made, source)
        }
        #expect(loop == nil && item == nil)
        #expect(tracer.snapshot().handlers.first?.handler.name.hasPrefix("source 0 (") == true)
    }
}
