import RunLoopKit

/// Something that a program does often, all of it on the loop's thread: what happens does not depend on the scheduler.
package struct Operation: Sendable {
    /// Makes the operation's items. The result performs the operation as often as its parameter says.
    package typealias Preparation = @Sendable (_ loop: Loop) throws -> (_ count: Int) -> Void

    /// The operation's name in figures. It stays the same from release to release.
    package let name: String
    /// How many times it is performed while its instructions are counted.
    package let count: Int
    /// Called on the loop's thread, outside of its runs.
    package let prepare: Preparation

    init(_ name: String, count: Int = 2_000, _ prepare: @escaping Preparation) {
        self.name = name
        self.count = count
        self.prepare = prepare
    }

    package static let all = passes + inputs + folders + connections + timers + limiters + rules + jobs + watched

    /// The operation of that name; one that may grow has its number of items behind an @.
    package static func named(_ name: String) -> Operation {
        if let operation = all.first(where: { $0.name == name }) { return operation }
        let parts = name.split(separator: "@")
        guard parts.count == 2, let size = Int(parts[1]),
            let operation = GrowingOperation.all.first(where: { $0.name == parts[0] })
        else { fatalError("unknown operation \(name.debugDescription)") }
        return operation.sized(size)
    }
}

/// An operation in a loop that contains a number of items, whose cost should not depend on that number.
package struct GrowingOperation: Sendable {
    package typealias Preparation = @Sendable (_ loop: Loop, _ size: Int) throws -> (_ count: Int) -> Void

    package let name: String
    /// What happens, in a line.
    package let summary: String
    /// How many items there are, in measurements with a clock.
    package let sizes: [Int]

    private let count: Int
    private let prepare: Preparation

    init(
        _ name: String, _ summary: String, sizes: [Int] = [10, 1_000, 10_000, 100_000], count: Int = 200,
        _ prepare: @escaping Preparation
    ) {
        self.name = name
        self.summary = summary
        self.sizes = sizes
        self.count = count
        self.prepare = prepare
    }

    /// The operation with a fixed number of items.
    package func sized(_ size: Int) -> Operation {
        Operation("\(name)@\(size)", count: count) { [prepare] loop in try prepare(loop, size) }
    }

    package static let all = [
        blocksForAnotherMode, observersOfAnotherActivity, messagePorts, ports, source0s, readyMessagePorts, readyPipes,
        readyLentPipes, source0Invalidation, observerInvalidation, withdrawal, commonModes, replacing, hostedTimers,
        retimingAtRandom, timers, timersInCommon, retiming, stopping, restarting, tolerantTimers, mixedTimers,
        limiterEnd, knownKeys, waitingRules,
    ]
}

/// Counts down from inside handlers, on one thread.
final class Countdown: @unchecked Sendable {
    private var left = 0

    /// Lets `next` return true `count` times.
    func start(_ count: Int) { left = count }

    /// Counts down. Returns false if nothing is left.
    func next() -> Bool {
        left -= 1
        return left >= 0
    }
}

extension Duration {
    /// Longer than any measurement.
    static let anHour = Duration.seconds(3_600)
}
