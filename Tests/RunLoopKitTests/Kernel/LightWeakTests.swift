import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct LightWeakTests {
    private final class Object: Sendable {
        private let alive: Count
        private let whenGoing: @Sendable () -> Void

        init(_ alive: Count = Count(), whenGoing: @escaping @Sendable () -> Void = {}) {
            (self.alive, self.whenGoing) = (alive, whenGoing)
            alive.up()
        }

        deinit {
            whenGoing()
            alive.upBy(-1)
        }
    }

    private final class Holder: @unchecked Sendable {
        @LightWeak var object: Object?
        func isOf(_ object: Object) -> Bool { _object.refers(to: object) }
    }

    @Test("It is the object while that lives, and does not keep it alive")
    func lifetime() {
        let (holder, alive) = (Holder(), Count())
        #expect(holder.object == nil)
        do {
            let object = Object(alive)
            holder.object = object
            #expect(holder.object === object)
            // A reference that was loaded keeps the object.
            weak let other = holder.object
            #expect(other === object)
        }
        #expect(holder.object == nil && alive.value == 0)
        holder.object = nil
        #expect(holder.object == nil)
    }

    @Test("It is nil from the begin of the deinit on")
    func insideDeinit() {
        let (holder, found) = (Holder(), Log<Bool>())
        do {
            let object = Object { found.add(holder.object != nil) }
            holder.object = object
        }
        #expect(found.entries == [false])
    }

    @Test("It refers to its object, and to no later one, whose address is another one")
    func identity() {
        let holder = Holder()
        do {
            let object = Object()
            #expect(!holder.isOf(object))
            holder.object = object
            #expect(holder.isOf(object) && !holder.isOf(Object()))
        }
        for _ in 0..<100 { #expect(!holder.isOf(Object())) }
    }

    @Test("A copy is a reference of its own")
    func copies() {
        let holder = Holder()
        do {
            let object = Object()
            holder.object = object
            var copy = LightWeak(wrappedValue: holder.object)
            copy.wrappedValue = nil
            #expect(copy.wrappedValue == nil && holder.object === object)
        }
        #expect(holder.object == nil)
    }

    @Test("Threads load it while others release the last reference")
    func race() throws {
        let threads = try (0..<2).map { _ in try LoopThread() }
        let alive = Count()
        for _ in 0..<2_000 {
            let holder = Holder()
            var object: Object? = Object(alive)
            holder.object = object
            for thread in threads {
                thread.perform { for _ in 0..<5 { withExtendedLifetime(holder.object) {} } }
            }
            object = nil
        }
        for thread in threads {
            thread.stop()
            thread.join()
        }
        #expect(alive.value == 0)
    }
}
