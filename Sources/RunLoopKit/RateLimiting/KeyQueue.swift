/// A burst of calls, whatever their inputs: its state, and its place in a keyed limiter's queue.
///
/// Not generic, so that sorting needs no type metadata at run time.
class AnyBurst {
    final var state: RateLimitState

    /// The index in the queue of a keyed limiter; nil when the burst is not in it.
    fileprivate(set) final var place: Int?

    init(_ state: RateLimitState) { self.state = state }
}

/// The bursts of a keyed limiter by the time at which it looks at them again, the earliest first. At equal times the
/// one that was put first comes first.
struct KeyQueue {
    private struct Node: PlacedNode {
        let time: Int64
        let turn: UInt64
        // The limiter's table retains a burst for as long as it is in the queue.
        unowned(unsafe) let burst: AnyBurst

        func isBefore(_ other: Node) -> Bool { (time, turn) < (other.time, other.turn) }
        func record(place: Int?, in owner: ObjectIdentifier?) { burst.place = place }
    }

    private var heap = PlacedHeap<Node>()
    private var lastTurn: UInt64 = 0

    var count: Int { heap.nodes.count }

    var firstTime: Int64? { heap.nodes.first?.time }

    /// The first burst if its time has come. It stays in the queue.
    func firstDue(at now: Int64) -> AnyBurst? { heap.nodes.first.flatMap { $0.time <= now ? $0.burst : nil } }

    /// The time at which the limiter looks at a burst; nil when it is not in the queue.
    func time(of burst: AnyBurst) -> Int64? { burst.place.map { heap.nodes[$0].time } }

    /// Adds a burst, or moves it.
    mutating func put(_ burst: AnyBurst, at time: Int64) {
        remove(burst)
        lastTurn += 1
        heap.insert(Node(time: time, turn: lastTurn, burst: burst))
    }

    /// Does nothing if the burst is not in the queue.
    mutating func remove(_ burst: AnyBurst) { if let index = burst.place { heap.remove(at: index) } }
}
