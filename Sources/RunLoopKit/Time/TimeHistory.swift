/// The moves of a virtual clock. They tell the time at which a timer was made that was not on the clock yet.
struct TimeHistory {
    private struct Move {
        let turn: UInt64
        let time: Int64
    }

    /// Ascending by turn. The first holds the clock's start, or stands for all earlier moves.
    private var moves: [Move]

    /// The minimum number of moves that are kept.
    static let capacity = 1024

    init(startingAt time: Int64) { moves = [Move(turn: 0, time: time)] }

    mutating func record(_ time: Int64) {
        guard time != moves.last!.time else { return }
        if moves.count == 2 * Self.capacity { moves.removeFirst(Self.capacity) }
        moves.append(Move(turn: TurnCounter.nextOutside(), time: time))
    }

    /// The time at a turn. Before all moves that are kept it is the earliest time there is, since no deadline was past
    /// then.
    func time(atTurn turn: UInt64) -> Int64 {
        guard turn >= moves[0].turn else { return .min }
        var (low, high) = (0, moves.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if moves[middle].turn <= turn { low = middle } else { high = middle }
        }
        return moves[low].time
    }
}
