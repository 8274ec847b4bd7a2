/// Timers, earliest first. Equal deadlines are first come, first served: by the timers' turns.
///
/// A timer that moves to a later time does not change the heap: its node then has a deadline that is too early. The
/// heap corrects a node when it comes first, before it answers a question. So to push a timer out costs a compare, and
/// each correction a sift. A node is never later than its timer: see `HeapMember`.
struct DeadlineHeap<Timer: HeapMember>: ~Copyable {
    /// A timer with what it is sorted by, so that sifting writes to timers only to record their places. Nodes of equal
    /// deadline are in no order: those that are due are sorted by turn.
    ///
    /// Nodes are moved without counting references: the heap retains a timer while it is here.
    private struct Node: PlacedNode {
        /// When the timer may fire, in nanoseconds, or earlier.
        var deadline: Int64
        let timer: Unmanaged<Timer>

        @inline(__always)
        func isBefore(_ other: borrowing Node) -> Bool { deadline < other.deadline }
        @inline(__always)
        func record(place: Int?, in owner: ObjectIdentifier?) {
            timer._withUnsafeGuaranteedRef { $0[.byDeadline, in: owner!] = place }
        }
    }

    /// The same timer by the time at which it must fire: the deadline plus the tolerance.
    private struct LatestNode: PlacedNode {
        /// Or earlier.
        var latest: Int64
        let timer: Unmanaged<Timer>

        func isBefore(_ other: borrowing LatestNode) -> Bool { latest < other.latest }
        func record(place: Int?, in owner: ObjectIdentifier?) {
            timer._withUnsafeGuaranteedRef { $0[.byLatest, in: owner!] = place }
        }
    }

    /// No deadline.
    static var never: Int64 { .max }

    /// The deadline of a timer that does not fire now, but keeps a run going: it is firing already, or was stopped.
    static var stopped: Int64 { .max - 1 }

    /// The deadline of a timer that does not keep a run going: it waits to be restarted.
    static var idle: Int64 { .max }

    /// Identifies this heap among those that a timer is in.
    var owner: ObjectIdentifier? {
        get { byDeadline.owner }
        set { byDeadline.owner = newValue }
    }

    private var byDeadline = PlacedHeap<Node>()

    /// The same timers, once any of them has a tolerance; nil before that, and again when no timer is left. Without
    /// tolerances `byDeadline` says it all.
    private var byLatest: PlacedHeap<LatestNode>?

    /// Whether a timer that may be idle is here, or was since the heap was empty. Without one, the times of the first
    /// timer, which a lock guards, need not be asked for.
    private var mayBeIdle = false

    var isEmpty: Bool { byDeadline.nodes.isEmpty }
    var all: [Timer] { byDeadline.nodes.map { $0.timer.takeUnretainedValue() } }

    deinit { for node in byDeadline.nodes { node.timer.release() } }

    // MARK: Changing

    mutating func insert(_ timer: Timer, _ times: HeapTimes) {
        if timer.mayBeIdle { mayBeIdle = true }
        if times.latest != times.deadline { sortByLatest() }
        byDeadline.insert(Node(deadline: times.deadline, timer: .passRetained(timer)))
        byLatest?.insert(LatestNode(latest: times.latest, timer: .passUnretained(timer)))
    }

    /// Returns whether the timer was there.
    @discardableResult
    mutating func remove(_ timer: Timer) -> Bool {
        guard let place = timer[.byDeadline, in: owner!] else { return false }
        if byLatest != nil, let place = timer[.byLatest, in: owner!] { byLatest!.remove(at: place) }
        byDeadline.remove(at: place)
        // Not its last reference: the caller has one.
        Unmanaged.passUnretained(timer).release()
        if isEmpty { (byLatest, mayBeIdle) = (nil, false) }
        return true
    }

    /// Moves a timer. Necessary if its deadline or its latest time is earlier than at the last `insert` or `update`.
    mutating func update(_ timer: Timer, _ times: HeapTimes) {
        guard let place = timer[.byDeadline, in: owner!] else { return }
        if times.latest != times.deadline { sortByLatest() }
        byDeadline.nodes[place].deadline = times.deadline
        byDeadline.settle(place)
        if byLatest != nil, let place = timer[.byLatest, in: owner!] {
            byLatest!.nodes[place].latest = times.latest
            byLatest!.settle(place)
        }
    }

    mutating func removeAll() {
        _ = byLatest?.removeAll()
        (byLatest, mayBeIdle) = (nil, false)
        for node in byDeadline.removeAll() { node.timer.release() }
    }

    /// Begins to sort by `latest`. Until now it was the deadline of each timer.
    private mutating func sortByLatest() {
        guard byLatest == nil else { return }
        var heap = PlacedHeap<LatestNode>()
        heap.owner = owner
        for node in byDeadline.nodes { heap.insert(LatestNode(latest: node.deadline, timer: node.timer)) }
        byLatest = heap
    }

    /// The deadline of the first node, after correcting those that came first and were too early.
    private mutating func firstDeadline() -> Int64? {
        while !byDeadline.nodes.isEmpty {
            let deadline = byDeadline.nodes[0].timer._withUnsafeGuaranteedRef { $0.timesForHeap().deadline }
            if deadline == byDeadline.nodes[0].deadline { return deadline }
            byDeadline.nodes[0].deadline = deadline
            byDeadline.settle(0)
        }
        return nil
    }

    // MARK: Asking

    /// Whether no timer keeps a run going.
    var isIdle: Bool {
        mutating get {
            guard mayBeIdle, !isEmpty else { return isEmpty }
            return firstDeadline()! == Self.idle
        }
    }

    /// Whether the loop must wake for a timer at `now` or before.
    @inline(__always)
    mutating func isDue(at now: Int64) -> Bool {
        // Mostly the first node, which is never too late, says that nothing is due.
        guard let first = byDeadline.nodes.first?.deadline, first <= now else { return false }
        return wakeUpTimeOfTimers().map { $0 <= now } ?? false
    }

    /// The earliest deadline; nil if no timer fires.
    var earliestDeadline: Int64? {
        mutating get { firstDeadline().flatMap { $0 >= Self.stopped ? nil : $0 } }
    }

    /// The latest time at which the loop must wake for its timers; nil if there is none.
    ///
    /// This is CF's rule of soft and hard deadlines in short form. CF visits the timers by soft deadline while that is
    /// not later than the earliest hard deadline so far. A timer beyond that point has a later hard deadline still. So
    /// the rule gives the earliest hard deadline of all, and at that time its timer is soft-due, as all others are that
    /// CF would fire.
    @inline(__always)
    var wakeUpTime: Int64? {
        // Inlined so far, since most passes have no timers.
        mutating get { isEmpty ? nil : wakeUpTimeOfTimers() }
    }

    @inline(never)
    private mutating func wakeUpTimeOfTimers() -> Int64? { byLatest == nil ? earliestDeadline : earliestLatest() }

    private mutating func earliestLatest() -> Int64? {
        while let first = byLatest!.nodes.first {
            let latest = first.timer._withUnsafeGuaranteedRef { $0.timesForHeap().latest }
            if latest == first.latest { return latest >= Self.stopped ? nil : latest }
            byLatest!.nodes[0].latest = latest
            byLatest!.settle(0)
        }
        return nil
    }

    /// The timer whose deadline is not later than `now`; nil if there is none, or there may be more than one.
    mutating func onlyDue(at now: Int64) -> Timer? {
        guard let deadline = firstDeadline(), deadline <= now else { return nil }
        // The second in order is one of the first one's children.
        for child in 1..<min(5, byDeadline.nodes.count) where byDeadline.nodes[child].deadline <= now { return nil }
        return byDeadline.nodes[0].timer.takeUnretainedValue()
    }

    /// The timers whose deadline is not later than `now`, in the order in which they fire, appended to `due`.
    func collectDue(at now: Int64, into due: inout [Timer]) {
        guard let first = byDeadline.nodes.first, first.deadline <= now else { return }
        var found: [(times: HeapTimes, timer: Timer)] = []
        byDeadline.visit { node in
            guard node.deadline <= now else { return false }
            let times = node.timer._withUnsafeGuaranteedRef { $0.timesForHeap() }
            if times.deadline <= now { found.append((times, node.timer.takeUnretainedValue())) }
            return true
        }
        if found.count > 1 {
            found.sort { ($0.times.deadline, $0.times.turn) < ($1.times.deadline, $1.times.turn) }
        }
        // A loop, since a key path of a generic type is made anew at each use, for 10,000 instructions.
        for (_, timer) in found { due.append(timer) }
    }
}
