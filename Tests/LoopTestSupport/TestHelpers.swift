import RunLoopKit
import Synchronization

/// The record of a test's handlers, from any thread.
package final class Log<Entry: Sendable>: @unchecked Sendable {
    // Not Synchronization's Mutex, for which ThreadSanitizer reports false races.
    private let lock = Lock(.leaf)
    private var storage: [Entry] = []

    package init() {}

    package func add(_ entry: Entry) { lock.withLock { storage.append(entry) } }

    package var entries: [Entry] { lock.withLock { storage } }
}

/// A counter for any thread.
package final class Count: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    @discardableResult
    package func up() -> Int { count.add(1, ordering: .sequentiallyConsistent).newValue }

    package func upBy(_ step: Int) { count.add(step, ordering: .sequentiallyConsistent) }

    package var value: Int { count.load(ordering: .sequentiallyConsistent) }
}

/// A flag that orders nothing between threads: for tests in which ThreadSanitizer looks for what else does.
package final class UnorderedFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    package func set() { flag.store(true, ordering: .relaxed) }

    package var isSet: Bool { flag.load(ordering: .relaxed) }
}

/// A counter that orders nothing between threads, as `UnorderedFlag`.
package final class UnorderedCounter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package func up() { count.add(1, ordering: .relaxed) }

    package var value: Int { count.load(ordering: .relaxed) }
}

/// An event that one thread waits for and another one triggers.
package final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)

    package init() {}

    package func open() { isOpen.store(true, ordering: .releasing) }

    package var isOpenNow: Bool { isOpen.load(ordering: .acquiring) }

    /// Waits by polling: for events that are about to happen.
    package func wait() { spin(until: isOpen.load(ordering: .acquiring)) }
}

/// Waits for a condition that another thread is about to make true.
///
/// Polls without a pause at first, so that a test can act at that very moment. Then with pauses: on a busy machine a
/// thread that only yields takes the CPU from the one that it waits for.
package func spin(until condition: @autoclosure () -> Bool) {
    var looks = 0
    var pause = Pause()
    while !condition() {
        looks += 1
        if looks < 1000 { yieldProcessor() } else { leaveProcessor(forMicroseconds: pause.next()) }
    }
}

/// The same in an async test, which must not block its pool thread: other tasks may need it to make the condition true.
package func eventually(_ condition: @autoclosure () -> Bool) async {
    var looks = 0
    var pause = Pause()
    while !condition() {
        looks += 1
        // In a cancelled task the sleep is a yield as well.
        if looks < 100 { await Task.yield() } else { try? await Task.sleep(for: .microseconds(pause.next())) }
    }
}

/// Pauses between looks at a condition, each a tenth of the time waited so far. Many tests wait at the same time, most
/// of them for a turn of other tests: with short pauses alone they would keep all CPUs busy.
private struct Pause {
    private var microseconds = 50.0

    mutating func next() -> UInt32 {
        microseconds = min(microseconds * 1.1, 5000)
        return UInt32(microseconds)
    }
}

extension Loop {
    /// A loop in virtual time for the calling thread.
    package static func inVirtualTime(_ advance: VirtualClock.Advance = .automatic) -> (Loop, VirtualClock) {
        let clock = VirtualClock(advance)
        return (Loop(clock: clock), clock)
    }

    /// The number of items of a kind in the loop's description.
    package func count(of kind: String) -> Int {
        description.split(separator: "\n").filter { $0.contains("    \(kind)") }.count
    }
}

extension Loop.Instant: ExpressibleByIntegerLiteral {
    /// In nanoseconds.
    public init(integerLiteral value: Int64) { self.init(nanoseconds: value) }
}

/// A second on virtual clocks, which start at zero.
package func seconds(_ count: Int64) -> Loop.Instant { Loop.Instant(nanoseconds: count * 1_000_000_000) }

/// A value that is set after the closures that use it were made.
package final class Box<Value>: @unchecked Sendable {
    package var value: Value?

    package init() {}
}
