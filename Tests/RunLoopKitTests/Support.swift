import Synchronization

@testable import RunLoopKit

/// What handlers of a test write down, from whichever thread.
final class Log<Entry: Sendable>: @unchecked Sendable {
    // Not Synchronization's Mutex, in which ThreadSanitizer sees races that are none.
    private let lock = Lock(.leaf)
    private var storage: [Entry] = []

    func add(_ entry: Entry) { lock.withLock { storage.append(entry) } }

    var entries: [Entry] { lock.withLock { storage } }
}

/// Counts, from whichever thread.
final class Count: Sendable {
    private let count = Atomic<Int>(0)

    @discardableResult
    func up() -> Int { count.add(1, ordering: .sequentiallyConsistent).newValue }

    func upBy(_ step: Int) { count.add(step, ordering: .sequentiallyConsistent) }

    var value: Int { count.load(ordering: .sequentiallyConsistent) }
}

/// Something that one thread waits for and another one gives.
final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    var isOpenNow: Bool { isOpen.load(ordering: .acquiring) }

    /// Waits by looking again and again: for events that are about to happen.
    func wait() { spin(until: isOpen.load(ordering: .acquiring)) }
}

/// Waits for something that another thread is about to bring about.
///
/// Looks without a pause at first, so that a test can act at that very moment. Then with pauses: on a busy machine a
/// thread that only yields takes the processor from the one that it waits for.
func spin(until condition: @autoclosure () -> Bool) {
    var looks = 0
    while !condition() {
        looks += 1
        if looks < 1000 { yieldProcessor() } else { leaveProcessor() }
    }
}

/// The same in an async test, which must not keep its pool thread from those that bring it about.
func eventually(_ condition: @autoclosure () -> Bool) async {
    var looks = 0
    while !condition() {
        looks += 1
        // Of a cancelled task it is a yield as well.
        if looks < 100 { await Task.yield() } else { try? await Task.sleep(for: .microseconds(100)) }
    }
}

extension Loop {
    /// A loop in virtual time for the calling thread.
    static func inVirtualTime(_ advance: VirtualClock.Advance = .automatic) -> (Loop, VirtualClock) {
        let clock = VirtualClock(advance)
        return (Loop(clock: clock), clock)
    }

    /// How many items of a kind the loop's description lists.
    func count(of kind: String) -> Int {
        description.split(separator: "\n").filter { $0.contains("    \(kind)") }.count
    }
}

extension Loop.Instant: ExpressibleByIntegerLiteral {
    /// In nanoseconds.
    public init(integerLiteral value: Int64) { self.init(nanoseconds: value) }
}

/// A second on virtual clocks, which start at zero.
func seconds(_ count: Int64) -> Loop.Instant { Loop.Instant(nanoseconds: count * 1_000_000_000) }

/// Something that is set after the closures that use it were made.
final class Box<Value>: @unchecked Sendable {
    var value: Value?
}

/// Runs a test on a thread whose loop may be used freely.
func onThreadOfItsOwn(_ body: @escaping @Sendable () throws -> Void) throws {
    let failure = Log<any Error>()
    let thread = try System.startThread(stackSize: nil) {
        do { try body() } catch { failure.add(error) }
    }
    System.join(thread)
    if let error = failure.entries.first { throw error }
}
