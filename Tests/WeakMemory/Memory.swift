/// A location that threads access atomically.
package struct Location: Hashable, Sendable { let index: Int }

/// A location that threads access plainly, as the compiler does with a variable. Two accesses, of which one is a write,
/// and neither happens before the other, are a data race.
package struct Plain: Hashable, Sendable { let index: Int }

/// The memory of a weak machine.
///
/// Each atomic location has messages in its modification order. What a thread reads is any message that is not older
/// than what it has seen there. A releasing store attaches what its thread has seen; an acquiring load adds it to what
/// its own thread has seen.
struct Memory: Hashable {
    struct Message: Hashable {
        let value: Int
        /// What an acquiring reader sees.
        var view: View
        /// Whether a read-modify-write has made it from the message before: nothing comes between the two.
        var isAttached = false
    }

    var messages: [[Message]]
    var values: [Int]
    /// What each thread has seen.
    var views: [View]
    /// What an acquiring fence would add, and what a releasing one has attached to later stores. Not used by programs
    /// without fences.
    var acquirable: [View]
    var releasable: [View]
    /// The last sequentially consistent stores, and what such fences have seen.
    var sequential = View.bottom
    /// What the kernel has seen of the words that threads wait for.
    var kernel = View.bottom

    private let hasFences: Bool

    init(atomics: [Int], plains: [Int], threads: Int, hasFences: Bool) {
        precondition(atomics.count <= View.locationLimit && plains.count * (threads + 1) <= 64)
        messages = atomics.map { [Message(value: $0, view: View())] }
        values = plains
        views = Array(repeating: View(), count: threads)
        acquirable = Array(repeating: .bottom, count: threads)
        releasable = acquirable
        self.hasFences = hasFences
    }

    // MARK: Atomic accesses

    /// The messages that a thread may read, by their numbers.
    func readable(_ location: Int, by thread: Int, _ order: Order) -> Range<Int> {
        var first = views[thread][location]
        if order.isSequential { first = max(first, sequential[location]) }
        return first..<messages[location].count
    }

    mutating func read(_ location: Int, message: Int, by thread: Int, _ order: Order) {
        let view = messages[location][message].view
        views[thread][location] = max(views[thread][location], message)
        if order.acquires { views[thread].join(view) } else if hasFences { acquirable[thread].join(view) }
    }

    /// The places at which a store may enter the modification order.
    func placesForStore(_ location: Int, by thread: Int, _ order: Order) -> [Int] {
        let all = messages[location]
        return (readable(location, by: thread, order).lowerBound + 1...all.count).filter {
            $0 == all.count || !all[$0].isAttached
        }
    }

    /// Whether a read-modify-write may change this message: no other one has.
    func isChangeable(_ location: Int, message: Int) -> Bool {
        message + 1 == messages[location].count || !messages[location][message + 1].isAttached
    }

    /// - Parameter previous: What the message continues, of a read-modify-write.
    mutating func write(
        _ location: Int, _ value: Int, at place: Int, by thread: Int, _ order: Order, continuing previous: View? = nil
    ) {
        makeRoom(location, at: place)
        views[thread][location] = place
        var view = order.releases ? views[thread] : releasable[thread]
        if let previous { view.join(previous) }
        view[location] = max(view[location], place)
        messages[location].insert(Message(value: value, view: view, isAttached: previous != nil), at: place)
        precondition(messages[location].count <= View.messageLimit)
        if order.isSequential { sequential[location] = max(sequential[location], place) }
    }

    /// Reads a message, and writes the next one.
    mutating func modify(_ location: Int, message: Int, to value: Int, by thread: Int, _ order: Order) {
        read(location, message: message, by: thread, order)
        let previous = messages[location][message].view
        write(location, value, at: message + 1, by: thread, order, continuing: previous)
    }

    mutating func fence(by thread: Int, _ order: Order) {
        if order.acquires { views[thread].join(acquirable[thread]) }
        if order.isSequential {
            views[thread].join(sequential)
            sequential.join(views[thread])
        }
        if order.releases { releasable[thread] = views[thread] }
    }

    /// Gives the messages from a place on the numbers after theirs.
    private mutating func makeRoom(_ location: Int, at place: Int) {
        guard place < messages[location].count else { return }
        changeViews { if $0[location] >= place { $0[location] += 1 } }
    }

    // MARK: Plain accesses

    /// Returns nil for a data race.
    mutating func read(_ plain: Int, by thread: Int) -> Int? {
        guard views[thread].plain & bit(plain) != 0 else { return nil }
        let reads = bit(plain, readBy: thread)
        let own = views[thread]
        changeViews { $0.plain &= ~reads }
        views[thread] = own
        views[thread].plain |= reads
        return values[plain]
    }

    /// Returns false for a data race.
    mutating func write(_ plain: Int, _ value: Int, by thread: Int) -> Bool {
        let reads = views.indices.reduce(0) { $0 | bit(plain, readBy: $1) }
        let all = bit(plain) | reads
        guard views[thread].plain & all == all else { return false }
        values[plain] = value
        let last = bit(plain)
        changeViews { $0.plain = $0.plain & ~last | reads }
        views[thread].plain |= last
        return true
    }

    private func bit(_ plain: Int) -> UInt64 { 1 << UInt64(plain * (views.count + 1)) }
    private func bit(_ plain: Int, readBy thread: Int) -> UInt64 { bit(plain) << UInt64(thread + 1) }

    // MARK: One form for what behaves the same

    private mutating func changeViews(_ change: (inout View) -> Void) {
        for index in views.indices { change(&views[index]) }
        if hasFences {
            for index in views.indices {
                change(&acquirable[index])
                change(&releasable[index])
            }
        }
        for location in messages.indices {
            for index in messages[location].indices {
                // Most stay as they are, and then the array is not copied.
                var view = messages[location][index].view
                change(&view)
                if view != messages[location][index].view { messages[location][index].view = view }
            }
        }
        change(&sequential)
        change(&kernel)
    }

    /// Forgets what no thread can read any more.
    mutating func forget(living: (Int) -> Bool) {
        var common: View?
        for thread in views.indices where living(thread) {
            if common == nil { common = views[thread] } else { common!.meet(views[thread]) }
        }
        guard let common else { return }
        for location in messages.indices where common[location] > 0 {
            messages[location].removeFirst(common[location])
        }
        for location in messages.indices where messages[location][0].isAttached {
            messages[location][0].isAttached = false
        }
        for thread in views.indices where !living(thread) {
            views[thread] = common
            guard hasFences else { continue }
            acquirable[thread] = .bottom
            releasable[thread] = .bottom
        }
        changeViews {
            $0.join(common)
            $0.subtract(common)
        }
    }

    /// The last value in the modification order.
    func last(_ location: Int) -> Int { messages[location].last!.value }
}
