import RunLoopKit

/// Something that a program does often, all of it on the loop's thread: what happens does not depend on the scheduler.
struct Operation: Sendable {
    /// Makes the operation's items. The result performs the operation as often as its parameter says.
    typealias Preparation = @Sendable (_ loop: Loop) throws -> (_ count: Int) -> Void

    /// The operation's name in the file of counts.
    let name: String
    /// How many times it is performed while its instructions are counted.
    let count: Int

    private let prepare: Preparation

    init(_ name: String, count: Int = 2_000, _ prepare: @escaping Preparation) {
        self.name = name
        self.count = count
        self.prepare = prepare
    }

    /// The operation in a loop that contains a few items, and in one that contains many. A constant cost is the same in
    /// both.
    static func growing(
        _ name: String, count: Int = 200, sizes: [Int] = [10, 1_000],
        _ prepare: @escaping @Sendable (_ loop: Loop, _ size: Int) throws -> (_ count: Int) -> Void
    ) -> [Operation] {
        sizes.map { size in Operation("\(name)@\(size)", count: count) { try prepare($0, size) } }
    }

    func perform() throws {
        let operation = try prepare(.current)
        // Binds symbols, makes metadata, lets buffers grow.
        operation(count / 2)
        measured = { [count] in operation(count) }
        performMeasured()
    }
}

/// What `performMeasured` performs. Used on the initial thread only.
nonisolated(unsafe) private var measured = {}

/// The instructions of this function and of those that it calls are counted. `scripts/instruction-counts` finds it by
/// its name.
@inline(never)
private func performMeasured() { measured() }

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
