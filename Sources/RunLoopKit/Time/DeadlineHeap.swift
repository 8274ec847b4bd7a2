/// Timers, earliest first. Equal deadlines are first come, first served: every change of a deadline takes a new turn.
struct DeadlineHeap<Timer: HeapMember> {
    /// A timer with what it is sorted by, so that sifting writes to timers only to record their places.
    private struct Node: PlacedNode {
        /// When the timer may fire, in nanoseconds.
        var deadline: Int64
        /// Orders equal deadlines.
        var turn: UInt64
        let timer: Timer

        func isBefore(_ other: Node) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : turn < other.turn
        }
        func record(place: Int?, in owner: ObjectIdentifier?) { timer[.byDeadline, in: owner!] = place }
    }

    /// The same timer by the time at which it must fire: the deadline plus the tolerance.
    private struct LatestNode: PlacedNode {
        var latest: Int64
        let timer: Timer

        func isBefore(_ other: LatestNode) -> Bool { latest < other.latest }
        func record(place: Int?, in owner: ObjectIdentifier?) { timer[.byLatest, in: owner!] = place }
    }

    /// The deadline of a timer that does not fire: it has no fire time, or is firing already.
    static var never: Int64 { .max }

    /// Identifies this heap among those that a timer is in.
    var owner: ObjectIdentifier? {
        get { byDeadline.owner }
        set { byDeadline.owner = newValue }
    }

    private var byDeadline = PlacedHeap<Node>()

    /// The same timers, once any of them has a tolerance; nil before that, and again when no timer is left. Without
    /// tolerances `byDeadline` says it all.
    private var byLatest: PlacedHeap<LatestNode>?

    var isEmpty: Bool { byDeadline.nodes.isEmpty }
    var all: [Timer] { byDeadline.nodes.map { $0.timer } }

    /// The earliest deadline; nil if no timer fires.
    var earliestDeadline: Int64? { byDeadline.nodes.first.flatMap { $0.deadline == Self.never ? nil : $0.deadline } }

    // MARK: Changing

    /// Adds a timer, after those of equal deadline unless it has an earlier turn.
    mutating func insert(_ timer: Timer, deadline: Int64, latest: Int64, turn: UInt64? = nil) {
        if latest != deadline { sortByLatest() }
        byDeadline.insert(Node(deadline: deadline, turn: turn ?? Turn.next(), timer: timer))
        byLatest?.insert(LatestNode(latest: latest, timer: timer))
    }

    mutating func remove(_ timer: Timer) {
        guard let place = timer[.byDeadline, in: owner!] else { return }
        if let place = timer[.byLatest, in: owner!] { byLatest?.remove(at: place) }
        byDeadline.remove(at: place)
        if isEmpty { byLatest = nil }
    }

    mutating func update(_ timer: Timer, deadline: Int64, latest: Int64) {
        guard let place = timer[.byDeadline, in: owner!] else { return }
        if latest != deadline { sortByLatest() }
        byDeadline.nodes[place].deadline = deadline
        byDeadline.nodes[place].turn = Turn.next()
        byDeadline.settle(place)
        if let place = timer[.byLatest, in: owner!] {
            byLatest!.nodes[place].latest = latest
            byLatest!.settle(place)
        }
    }

    mutating func removeAll() {
        byLatest?.removeAll()
        byLatest = nil
        byDeadline.removeAll()
    }

    /// Begins to sort by `latest`. Until now it was the deadline of each timer.
    private mutating func sortByLatest() {
        guard byLatest == nil else { return }
        var heap = PlacedHeap<LatestNode>()
        heap.owner = owner
        for node in byDeadline.nodes { heap.insert(LatestNode(latest: node.deadline, timer: node.timer)) }
        byLatest = heap
    }

    // MARK: Asking

    /// The latest time at which the loop must wake for its timers; nil if there is none.
    ///
    /// This is CF's rule of soft and hard deadlines in short form. CF visits the timers by soft deadline while that is
    /// not later than the earliest hard deadline so far. A timer beyond that point has a later hard deadline still. So
    /// the rule gives the earliest hard deadline of all, and at that time its timer is soft-due, as all others are that
    /// CF would fire.
    var wakeUpTime: Int64? {
        guard let byLatest else { return earliestDeadline }
        return byLatest.nodes.first.flatMap { $0.latest == Self.never ? nil : $0.latest }
    }

    /// The timer whose deadline is not later than `now`; nil if there is none, or more than one.
    func onlyDue(at now: Int64) -> Timer? {
        let nodes = byDeadline.nodes
        guard let first = nodes.first, first.deadline <= now else { return nil }
        // The second in order is one of the first one's children.
        for child in 1..<min(5, nodes.count) where nodes[child].deadline <= now { return nil }
        return first.timer
    }

    /// The timers whose deadline is not later than `now`, in the order in which they fire, appended to `due`.
    func collectDue(at now: Int64, into due: inout [Timer]) {
        guard let first = byDeadline.nodes.first, first.deadline <= now else { return }
        var found: [Node] = []
        byDeadline.visit { node in
            guard node.deadline <= now else { return false }
            found.append(node)
            return true
        }
        if found.count > 1 { found.sort { $0.isBefore($1) } }
        // A loop, since a key path of a generic type is made anew at each use, for 10,000 instructions.
        for node in found { due.append(node.timer) }
    }
}
