/// A burst of calls, whatever their inputs: its state, and its place in a keyed limiter's queue.
///
/// Not generic, so that sorting needs no type metadata at run time.
class AnyBurst {
    final var state: RateLimitState

    /// The index in the queue of a keyed limiter; nil when the burst is not in it.
    fileprivate(set) final var place: Int?

    init(_ state: RateLimitState) { self.state = state }
}

/// The bursts of a keyed limiter by the time at which it looks at them again, the earliest first: a 4-ary heap. At
/// equal times the one that was put first comes first.
///
/// Each burst knows its place, so a cancelled one leaves without a search.
struct KeyQueue {
    private struct Place {
        let time: Int64
        let turn: UInt64
        // The limiter's table retains a burst for as long as it is in the queue.
        unowned(unsafe) let burst: AnyBurst

        func isBefore(_ other: Place) -> Bool { (time, turn) < (other.time, other.turn) }
    }

    private var places: [Place] = []
    private var lastTurn: UInt64 = 0

    var count: Int { places.count }

    var firstTime: Int64? { places.first?.time }

    /// The first burst if its time has come. It stays in the queue.
    func firstDue(at now: Int64) -> AnyBurst? { places.first.flatMap { $0.time <= now ? $0.burst : nil } }

    /// The time at which the limiter looks at a burst; nil when it is not in the queue.
    func time(of burst: AnyBurst) -> Int64? { burst.place.map { places[$0].time } }

    /// Adds a burst, or moves it.
    mutating func put(_ burst: AnyBurst, at time: Int64) {
        remove(burst)
        lastTurn += 1
        burst.place = places.count
        places.append(Place(time: time, turn: lastTurn, burst: burst))
        siftUp(from: places.count - 1)
    }

    /// Does nothing if the burst is not in the queue.
    mutating func remove(_ burst: AnyBurst) {
        guard let index = burst.place else { return }
        burst.place = nil
        let last = places.removeLast()
        if index < places.count {
            places[index] = last
            last.burst.place = index
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
        place.burst.place = index
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
