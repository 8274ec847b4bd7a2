import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct RarePropertyTests {
    @Test("The object is there while an item has a rare property")
    func comesAndGoes() {
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        #expect(timer.rareProperties == nil)
        timer.label = "named"
        timer.tolerance = .milliseconds(1)
        #expect(timer.label == "named" && timer.tolerance == .milliseconds(1))
        timer.label = nil
        #expect(timer.label == nil && timer.tolerance == .milliseconds(1))
        timer.tolerance = .zero
        #expect(timer.rareProperties == nil)
        let asked = Loop.Timer(at: .distantFuture) { _ in }
        #expect(asked.rareProperties != nil)
        let (loop, _) = Loop.inVirtualTime()
        loop.add(asked)
        #expect(asked.rareProperties == nil)
        // The slot in a second heap.
        loop.add(asked, in: "a")
        #expect(asked.rareProperties != nil)
        asked.label = "in two modes"
        asked.label = nil
        loop.remove(asked, in: "a")
        asked.invalidate()
        timer.invalidate()
        loop.end()
    }

    @Test("Every kind of item keeps its label in any number of modes")
    func labels() throws {
        let (loop, _) = Loop.inVirtualTime()
        let items: [Loop.Item] = [
            Loop.Timer(after: .seconds(1), label: "0") { _ in }, Loop.Source0(label: "1") {},
            Loop.Source0(schedule: { _, _ in }, label: "2") {}, Loop.Observer(label: "3") { _, _ in },
            Loop.MessagePort<Int>(label: "4") { _ in }, try Loop.PortSource(label: "5") { _ in },
        ]
        for mode in [.common, "a", "b", "c"] as [Loop.Mode] {
            for (number, item) in items.enumerated() {
                loop.add(item, in: mode)
                #expect(item.label == "\(number)")
                item.label = nil
                #expect(item.label == nil)
                item.label = "\(number)"
            }
        }
        for item in items { item.invalidate() }
        #expect(items.map(\.label) == (0...5).map { "\($0)" })
        loop.end()
    }

    /// For ThreadSanitizer, which sees what no lock orders.
    @Test("A timer changes on one thread while another moves it between loops and modes")
    func changesWhileMoving() throws {
        let threads = try (0..<2).map { try LoopThread(name: "loop \($0)") }
        let timer = Loop.Timer(every: .microseconds(50)) { _ in }
        let isOver = UnorderedFlag()
        let changing = try System.startThread(stackSize: nil) {
            for number in 0..<2_000 {
                timer.label = number % 3 == 0 ? nil : "\(number)"
                timer.tolerance = .microseconds(number % 2)
                timer.nextFireTime = .distantPast
            }
            isOver.set()
        }
        while !isOver.isSet {
            for thread in threads {
                for mode in [.common, "a", "b"] as [Loop.Mode] { thread.loop.add(timer, in: mode) }
                for mode in ["b", .common] as [Loop.Mode] { thread.loop.remove(timer, in: mode) }
                thread.loop.remove(timer, in: "a")
            }
        }
        System.join(changing)
        #expect(timer.label == "1999" && timer.tolerance == .microseconds(1))
        timer.invalidate()
        for thread in threads {
            thread.stop()
            thread.join()
        }
    }

    /// For ThreadSanitizer too.
    @Test("An item in several modes is invalidated while another thread removes it from them")
    func invalidatedWhileRemoved() throws {
        final class Captured: Sendable {}
        let thread = try LoopThread(name: "has the items")
        let loop = thread.loop
        for round in 0..<300 {
            weak var captured: Captured?
            let timer = { () -> Loop.Timer in
                let made = Captured()
                captured = made
                return Loop.Timer(after: .seconds(3_600)) { [made] _ in withExtendedLifetime(made) {} }
            }()
            #expect(loop.add(timer, in: .common) && loop.add(timer, in: "a"))
            let removing = try System.startThread(stackSize: nil) {
                loop.remove(timer, in: round % 2 == 0 ? .common : "a")
                loop.remove(timer)
            }
            timer.invalidate()
            System.join(removing)
            #expect(captured == nil && timer.currentModes.isEmpty)
        }
        thread.stop()
        thread.join()
    }

    /// For ThreadSanitizer too.
    @Test("A label changes while another thread invalidates the item in two modes")
    func labelOfItemThatLeaves() throws {
        let thread = try LoopThread(name: "has the items")
        let items = (0..<5_000).map { Loop.Timer(after: .seconds(3_600), label: "item number \($0)") { _ in } }
        let invalidated = UnorderedCounter()
        let labelling = try System.startThread(stackSize: nil) {
            while case let number = invalidated.value, number < items.count {
                items[number].label = nil
                items[number].label = "another label"
            }
        }
        for item in items {
            thread.loop.add(item, in: .common)
            invalidated.up()
            item.invalidate()
        }
        System.join(labelling)
        #expect(items.allSatisfy { $0.currentModes.isEmpty })
        thread.stop()
        thread.join()
    }
}
