import Synchronization

extension Loop {
    /// How much a loop has done so far: what it costs, in numbers that do not depend on the machine's speed.
    public struct Counters: Equatable, Sendable {
        /// Passes of all runs.
        public var passes = 0
        /// Times the loop asked the kernel to wait (`epoll_wait` without a time limit; in virtual time, `poll`).
        public var waits = 0
        /// Times the loop asked the kernel what is ready without waiting (`epoll_wait` with limit 0).
        public var polls = 0
        /// Times somebody had to write to the wake-up eventfd because the loop slept.
        public var wakeWrites = 0
        /// Times the timerfd was armed (`timerfd_settime`).
        public var timerArms = 0
    }

    /// What the loop has done so far. From any thread; values of one moment only on the loop's own thread.
    public var counters: Counters {
        Counters(
            passes: tally.passes.load(ordering: .relaxed), waits: tally.waits.load(ordering: .relaxed),
            polls: tally.polls.load(ordering: .relaxed), wakeWrites: waker.writes.load(ordering: .relaxed),
            timerArms: tally.timerArms.load(ordering: .relaxed))
    }

    /// The counters as they are kept. Relaxed everywhere: they are statistics and order nothing.
    struct Tally: ~Copyable {
        let passes = Atomic<Int>(0)
        let waits = Atomic<Int>(0)
        let polls = Atomic<Int>(0)
        let timerArms = Atomic<Int>(0)

        /// Adds one to a counter that only one thread at a time changes: a plain load and store, no locked instruction.
        @inline(__always)
        static func count(_ counter: borrowing Atomic<Int>) {
            counter.store(counter.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        }
    }
}
