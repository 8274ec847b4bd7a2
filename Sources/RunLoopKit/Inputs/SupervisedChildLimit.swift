/// Whether a supervised child has ended too often. A failed start counts as an end.
///
/// | period | what counts | how long |
/// |---|---|---|
/// | nil | an end before the child has settled | until one has settled, or was restarted on purpose |
/// | given | any end but a restart on purpose | for the period |
struct SupervisedChildLimit: ~Copyable {
    private let limit: Int
    private let period: Duration?

    /// Without a period: the quick ends in a row.
    private var count = 0

    /// With one: when the latest ends were. There are no more than the limit, since that many are final.
    private var times = RingQueue<Loop.Instant>()

    /// - Parameters:
    ///   - limit: How many ends are too many: 1 at least. Nil for no limit.
    ///   - period: In which they are counted. A negative one counts as zero.
    init(_ limit: Int?, in period: Duration?) {
        self.limit = limit.map { max(1, $0) } ?? .max
        self.period = period.map { max(.zero, $0) }
    }

    /// The child was restarted on purpose.
    mutating func noteRestart() { count = 0 }

    /// Notes an end. Returns whether there are too many.
    ///
    /// - Parameter hasSettled: Whether the child had run for its settling time.
    mutating func noteEnd(at time: Loop.Instant, hasSettled: Bool) -> Bool {
        guard limit < .max else { return false }
        guard let period else {
            count = hasSettled ? 0 : count + 1
            return count >= limit
        }
        times.append(time)
        // As systemd and Erlang count: one that is exactly a period old is in it.
        while times.first + period < time { _ = times.removeFirst() }
        return times.count >= limit
    }
}
