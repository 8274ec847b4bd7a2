/// A thread of a modelled program: a function that reads like the code it stands for.
///
/// The explorer stores no stack. It calls the function again for each step, and gives it the results that its
/// operations had, up to the next one. So the function must depend on nothing else. From the next operation on all
/// results are zero, and the function returns without any effect. A loop is written with `repeating`, which forgets the
/// results of the rounds before: without that, no two states of a thread that waits would be equal.
///
/// (A thrown error would end the function at once. The testing library takes a backtrace of each.)
package final class ModelThread {
    package typealias Body = (ModelThread) -> [Int]

    /// The results so far.
    private(set) var history: [Int]
    private var position = 0
    private(set) var next: Operation?

    init(_ history: [Int]) { self.history = history }

    private func perform(_ operation: Operation) -> Int {
        guard next == nil else { return 0 }
        guard position < history.count else {
            next = operation
            return 0
        }
        position += 1
        return history[position - 1]
    }

    // MARK: Atomic accesses

    package func load(_ location: Location, _ order: Order) -> Int {
        perform(.load(location, order))
    }

    package func store(_ location: Location, _ value: Int, _ order: Order) {
        _ = perform(.store(location, value, order))
    }

    /// Changes the value. Returns the old one.
    @discardableResult
    package func modify(
        _ location: Location, _ order: Order, _ change: @escaping (Int) -> Int
    ) -> Int { perform(.modify(location, order, change)) }

    @discardableResult
    package func exchange(_ location: Location, _ value: Int, _ order: Order) -> Int {
        modify(location, order) { _ in value }
    }

    @discardableResult
    package func add(_ location: Location, _ value: Int, _ order: Order) -> Int {
        modify(location, order) { $0 + value }
    }

    /// - Parameter isWeak: It may fail although it finds the expected value.
    package func compareExchange(
        _ location: Location, _ expected: Int, _ desired: Int, _ order: Order, failure: Order = .relaxed,
        isWeak: Bool = false
    ) -> (exchanged: Bool, original: Int) {
        let operation = Operation.compareExchange(
            location, expected: expected, desired: desired, order, failure: failure, isWeak: isWeak)
        let result = perform(operation)
        return (result & 1 == 1, result >> 1)
    }

    package func fence(_ order: Order) { _ = perform(.fence(order)) }

    // MARK: Plain accesses

    @discardableResult
    package func read(_ plain: Plain) -> Int { perform(.read(plain)) }
    package func write(_ plain: Plain, _ value: Int = 1) { _ = perform(.write(plain, value)) }

    // MARK: The explorer

    /// Reads the last value in the modification order, with relaxed order: what a thread reads at last that asks again
    /// and again.
    package func loadLast(_ location: Location) -> Int { perform(.loadLast(location)) }

    /// Waits until all other threads have ended, which orders nothing.
    package func awaitOthers() { _ = perform(.awaitOthers) }

    /// Any number below `count`, as the explorer likes.
    package func choose(_ count: Int) -> Int { perform(.choose(count)) }

    package func expect(_ condition: Bool, _ text: String) {
        if !condition { _ = perform(.fail(text)) }
    }

    // MARK: The kernel

    /// Sleeps until a wake-up if the word has this value, as `futex` does.
    package func sleep(_ location: Location, while value: Int) {
        _ = perform(.sleep(location, while: value))
    }

    package func wakeOne(_ location: Location) { _ = perform(.wake(location, all: false)) }
    package func wakeAll(_ location: Location) { _ = perform(.wake(location, all: true)) }

    /// Waits in the kernel until the location is not zero. Returns what it was, and makes it zero.
    @discardableResult
    package func take(_ location: Location, _ order: Order) -> Int {
        perform(.waitInKernel(location, order, condition: { $0 != 0 }, change: { _ in 0 }))
    }

    /// Takes a lock of which only its promise matters: one holder, who sees what the last one did.
    package func lock(_ location: Location) {
        _ = perform(.waitInKernel(location, .acquiring, condition: { $0 == 0 }, change: { _ in 1 }))
    }

    package func unlock(_ location: Location) { exchange(location, 0, .releasing) }

    // MARK: Loops

    package enum Round {
        case again(Int)
        case end(Int)
    }

    /// Calls `body` with a state, and again with the next state until it ends. Nothing else goes from one round to the
    /// next.
    @discardableResult
    package func repeating(
        from state: Int = 0, _ body: (Int) -> Round
    ) -> Int {
        guard next == nil else { return 0 }
        let start = position
        // Twice the state of the round, or twice the result and one more.
        if start == history.count { history.append(state << 1) }
        position += 1
        if history[start] & 1 == 1 { return history[start] >> 1 }
        while true {
            let round = body(history[start] >> 1)
            guard next == nil else { return 0 }
            let entry: Int
            let isOver: Bool
            switch round {
            case .again(let state): (entry, isOver) = (state << 1, false)
            case .end(let result): (entry, isOver) = (result << 1 | 1, true)
            }
            history.removeSubrange(start...)
            history.append(entry)
            position = start + 1
            if isOver { return entry >> 1 }
        }
    }

    /// Calls a part of the thread of which only the result matters later.
    @discardableResult
    package func call(_ body: () -> Int) -> Int {
        repeating { _ in .end(body()) }
    }
}
