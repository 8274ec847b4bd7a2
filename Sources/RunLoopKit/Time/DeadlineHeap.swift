/// Timers, earliest first. Equal deadlines are first come, first served: every change of a deadline takes a new turn.
struct DeadlineHeap<Timer: HeapMember> {
    /// A timer with the times that it is sorted by, so that sifting writes to timers only to record their places.
    private struct Node: PlacedNode {
        /// When the timer may fire, in nanoseconds.
        var deadline: Int64
        /// When the timer must fire: the deadline plus the tolerance.
        var latest: Int64
        /// Orders equal deadlines.
        var turn: UInt64
        let timer: Timer

        func isBefore(_ other: Node) -> Bool { (deadline, turn) < (other.deadline, other.turn) }
        func record(place: Int?, in owner: ObjectIdentifier?) { timer.places[owner] = place }
    }

    /// The deadline of a timer that does not fire: it has no fire time, or is firing already.
    static var never: Int64 { .max }

    /// Identifies this heap among those that a timer is in.
    var owner: ObjectIdentifier? {
        get { heap.owner }
        set { heap.owner = newValue }
    }

    private var heap = PlacedHeap<Node>()

    /// Whether any timer was ever added with a tolerance: if not, the first node says it all.
    private var mayHaveTolerance = false

    /// The earliest `latest` of all nodes; nil if unknown.
    private var earliestLatest: Int64?

    var isEmpty: Bool { heap.nodes.isEmpty }
    var all: [Timer] { heap.nodes.map { $0.timer } }

    /// The earliest deadline; nil if no timer fires.
    var earliestDeadline: Int64? {
        guard let first = heap.nodes.first, first.deadline != Self.never else { return nil }
        return first.deadline
    }

    // MARK: Changing

    /// Adds a timer, after those of equal deadline unless it has an earlier turn.
    mutating func insert(_ timer: Timer, deadline: Int64, latest: Int64, turn: UInt64? = nil) {
        heap.insert(Node(deadline: deadline, latest: latest, turn: turn ?? Turn.next(), timer: timer))
        noteAdded(deadline: deadline, latest: latest)
    }

    mutating func remove(_ timer: Timer) {
        if let index = timer.places[owner] { noteRemoved(heap.remove(at: index).latest) }
    }

    mutating func update(_ timer: Timer, deadline: Int64, latest: Int64) {
        guard let index = timer.places[owner] else { return }
        noteRemoved(heap.nodes[index].latest)
        heap.nodes[index].deadline = deadline
        heap.nodes[index].latest = latest
        heap.nodes[index].turn = Turn.next()
        noteAdded(deadline: deadline, latest: latest)
        heap.settle(index)
    }

    mutating func removeAll() {
        heap.removeAll()
        earliestLatest = nil
    }

    // MARK: Asking

    /// The latest time at which the loop must wake for its timers; nil if there is none.
    ///
    /// This is CF's rule of soft and hard deadlines in short form. CF visits the timers by soft deadline while that is
    /// not later than the earliest hard deadline so far. A timer beyond that point has a later hard deadline still. So
    /// the rule gives the earliest hard deadline of all, and at that time its timer is soft-due, as all others are that
    /// CF would fire.
    mutating func wakeUpTime() -> Int64? {
        guard mayHaveTolerance else { return earliestDeadline }
        if earliestLatest == nil {
            var earliest = Self.never
            heap.visit { node in
                guard node.deadline <= earliest else { return false }
                earliest = min(earliest, node.latest)
                return true
            }
            earliestLatest = earliest
        }
        return earliestLatest == Self.never ? nil : earliestLatest
    }

    /// The timers whose deadline is not later than `now`, in the order in which they fire, appended to `due`.
    func collectDue(at now: Int64, into due: inout [Timer]) {
        guard let first = heap.nodes.first, first.deadline <= now else { return }
        var found: [Node] = []
        heap.visit { node in
            guard node.deadline <= now else { return false }
            found.append(node)
            return true
        }
        if found.count > 1 { found.sort { $0.isBefore($1) } }
        // A loop, since a key path of a generic type is made anew at each use, for 10,000 instructions.
        for node in found { due.append(node.timer) }
    }

    private mutating func noteAdded(deadline: Int64, latest: Int64) {
        if latest != deadline { mayHaveTolerance = true }
        if let known = earliestLatest { earliestLatest = min(known, latest) }
    }

    private mutating func noteRemoved(_ latest: Int64) { if latest == earliestLatest { earliestLatest = nil } }
}

/// What a `DeadlineHeap` orders.
protocol HeapMember: AnyObject {
    /// Only heaps change it.
    var places: HeapPlaces { get set }
}

/// A timer's places in the heaps of the modes it is in: nearly always one.
struct HeapPlaces {
    private var heap: ObjectIdentifier?
    private var place = 0
    private var others: [ObjectIdentifier: Int] = [:]

    subscript(owner: ObjectIdentifier?) -> Int? {
        get {
            guard let owner else { return nil }
            return heap == owner ? place : others[owner]
        }
        set {
            guard let owner else { return }
            if heap == owner || (heap == nil && others[owner] == nil) {
                heap = newValue == nil ? nil : owner
                place = newValue ?? 0
            } else {
                others[owner] = newValue
            }
        }
    }
}
