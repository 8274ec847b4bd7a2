/// What a keyed limiter's queue knows of a key. Not generic, so that sorting needs no type metadata at run time.
class QueuedKey {
    final var state: RateLimitState

    /// Where the key is in its limiter's queue; nil when it is not in it. Written by the queue.
    fileprivate(set) final var place: Int?

    init(_ state: RateLimitState) { self.state = state }
}

/// Keys by the time at which the limiter looks at them again, the earliest first: a 4-ary heap. Equal times are first
/// come, first served.
///
/// Each key knows its place, so one that is cancelled leaves without a search.
struct KeyQueue {
    private struct Place {
        let time: Int64
        let turn: UInt64
        // The limiter's table retains a key for as long as it is in the queue.
        unowned(unsafe) let key: QueuedKey

        func isBefore(_ other: Place) -> Bool { (time, turn) < (other.time, other.turn) }
    }

    private var places: [Place] = []
    private var lastTurn: UInt64 = 0

    var count: Int { places.count }

    var firstTime: Int64? { places.first?.time }

    /// The first key if its time has come, still in the queue.
    func firstDue(at now: Int64) -> QueuedKey? { places.first.flatMap { $0.time <= now ? $0.key : nil } }

    /// When the limiter is going to look at a key; nil when it is not in the queue.
    func time(of key: QueuedKey) -> Int64? { key.place.map { places[$0].time } }

    /// Adds a key, or moves it.
    mutating func put(_ key: QueuedKey, at time: Int64) {
        remove(key)
        lastTurn += 1
        key.place = places.count
        places.append(Place(time: time, turn: lastTurn, key: key))
        siftUp(from: places.count - 1)
    }

    /// Does nothing if the key is not in the queue.
    mutating func remove(_ key: QueuedKey) {
        guard let index = key.place else { return }
        key.place = nil
        let last = places.removeLast()
        if index < places.count {
            places[index] = last
            last.key.place = index
            if index > 0, last.isBefore(places[(index - 1) / 4]) { siftUp(from: index) } else { siftDown(from: index) }
        }
        if places.capacity > 64, places.count < places.capacity / 8 { places = places.map { $0 } }
    }

    private mutating func siftUp(from start: Int) {
        let moved = places[start]
        var index = start
        while index > 0, moved.isBefore(places[(index - 1) / 4]) {
            set(index, to: places[(index - 1) / 4])
            index = (index - 1) / 4
        }
        if index != start { set(index, to: moved) }
    }

    private mutating func siftDown(from start: Int) {
        let moved = places[start]
        var index = start
        while let child = earliestChild(of: index), places[child].isBefore(moved) {
            set(index, to: places[child])
            index = child
        }
        if index != start { set(index, to: moved) }
    }

    private mutating func set(_ index: Int, to place: Place) {
        places[index] = place
        place.key.place = index
    }

    private func earliestChild(of index: Int) -> Int? {
        let first = 4 * index + 1
        guard first < places.count else { return nil }
        var earliest = first
        var child = first + 1
        while child < min(first + 4, places.count) {
            if places[child].isBefore(places[earliest]) { earliest = child }
            child += 1
        }
        return earliest
    }
}
