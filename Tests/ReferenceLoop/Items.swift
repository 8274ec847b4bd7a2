extension ReferenceLoop {
    /// What can be in a mode: a source, a timer or an observer.
    package class Item: Equatable {
        unowned let loop: ReferenceLoop
        package private(set) var isValid = true
        /// The modes that the item is in, `common` among them, and when it joined each.
        var joined: [String: Int] = [:]
        /// Called with each mode that the item joins or leaves.
        package var (didJoin, didLeave): ((String) -> Void, (String) -> Void) = ({ _ in }, { _ in })

        package init(_ loop: ReferenceLoop) { self.loop = loop }

        /// Removes the item from all modes, for ever.
        package final func invalidate() {
            isValid = false
            loop.leave(self, Array(joined.keys))
        }

        /// Whether the item is in a mode; in `common` alone, it is in none.
        final var isInMode: Bool { joined.keys.contains { $0 != "common" } }
        func willJoin(_ mode: String) {}
        var wakesLoopAsItJoins: Bool { false }
        package static func == (one: Item, other: Item) -> Bool { one === other }
    }

    /// A version-0 source: a program signals it, and the next pass performs it.
    package final class Source0: Item {
        package var order = 0
        package var perform: () -> Void = {}
        /// When the source was signalled; nil if it is not.
        var signalTurn: Int?
        private var signalWakes = false

        /// Signals the source. It keeps its place if it is signalled already.
        package func signal(wake: Bool = true) {
            guard isValid else { return }
            signalWakes = wake || signalTurn != nil && signalWakes
            signalTurn = signalTurn ?? loop.nextTurn()
            if wake, !joined.isEmpty { loop.wakeUp() }
        }

        override var wakesLoopAsItJoins: Bool { signalTurn != nil && signalWakes }
    }

    /// A version-1 source: a port that counts what it is sent.
    package final class Port: Item {
        package var perform: (_ count: Int) -> Void = { _ in }
        /// The sends that no call has reported yet.
        var sendCount = 0
        /// When the first of them came.
        private var sendTurn = 0

        package func send() {
            guard isValid else { return }
            if sendCount == 0 { sendTurn = loop.nextTurn() }
            sendCount += 1
        }

        /// When the port became ready in a mode, by a send or by joining it. Nil if it is not ready there.
        func readyTurn(in mode: String) -> Int? { sendCount == 0 ? nil : joined[mode].map { max($0, sendTurn) } }
    }

    /// Fires at a time, once or repeatedly.
    package final class Timer: Item {
        package var perform: () -> Void = {}
        /// The time between two calls; zero or less for a timer that fires once.
        package var interval = Duration.zero
        /// The next time; while the timer is being called, that which it is called for.
        package private(set) var fireTime = Duration.zero
        /// The timer's place among those of equal time.
        var turn = 0
        var isBeingCalled = false
        /// Whether the timer got its time while it was in no mode, and was overdue. Its place counts from then.
        private var wasOverdue = false

        /// Sets the next time. One in the past counts as now.
        package func setFireTime(_ time: Duration) {
            guard isValid else { return }
            wasOverdue = joined.isEmpty && time <= loop.now
            fireTime = max(time, loop.now)
            turn = loop.nextTurn()
        }

        override func willJoin(_ mode: String) {
            if mode == "common" || isInMode { return }
            if !wasOverdue { turn = loop.nextTurn() }
            wasOverdue = false
        }

        /// Whether the timer must fire now. While it is being called it must not, not even in a nested run.
        var isDue: Bool { isValid && !isBeingCalled && fireTime <= loop.now }

        func fire() {
            let served = fireTime
            isBeingCalled = true
            perform()
            isBeingCalled = false
            if interval <= .zero { return invalidate() }
            // A handler may set a later time, or any if it has removed the timer. Otherwise it is the next on the grid.
            if fireTime > served || wasOverdue { return }
            while fireTime <= loop.now { fireTime += interval }
            turn = loop.nextTurn()
        }
    }

    /// Called at points of a pass.
    package final class Observer: Item {
        package var activities: Activity = []
        package var repeats = true
        package var order = 0
        package var perform: (Activity) -> Void = { _ in }
        var isBeingCalled = false
    }

    /// The points of a pass, as bits.
    package struct Activity: OptionSet {
        package let rawValue: UInt
        package init(rawValue: UInt) { self.rawValue = rawValue }
        static let entry = Activity(rawValue: 1), beforeTimers = Activity(rawValue: 2)
        static let beforeSources = Activity(rawValue: 4), beforeWaiting = Activity(rawValue: 32)
        static let afterWaiting = Activity(rawValue: 64), exit = Activity(rawValue: 128)
    }
}
