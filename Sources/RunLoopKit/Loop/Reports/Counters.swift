import Synchronization

extension Loop {
    /// What a loop has done so far, in numbers that do not depend on the machine's speed.
    public struct Counters: Equatable, Sendable {
        /// Passes of all runs.
        public var passes = 0
        /// Waits in the kernel (`epoll_wait` without a time limit; in virtual time, `poll`). Mostly one for each pass
        /// that sleeps. If a wait ends, but a pass has already served what ended it, another wait follows.
        public var waits = 0
        /// Questions to the kernel what is ready, without waiting (`epoll_wait` with limit 0). A pass that does not
        /// sleep asks only if the kernel may know more than the loop.
        public var polls = 0
        /// Spins before a wait: see ``Loop/spinDuration``.
        public var spins = 0
        /// Writes to the wake-up eventfd by threads that found the loop asleep; for a hosted loop, its own writes as
        /// well, which make its descriptor readable.
        public var wakeWrites = 0
        /// Times the loop, or a thread that changed its timers, armed a timerfd (`timerfd_settime`).
        public var timerArms = 0

        /// What the loop has done since earlier counters of the same loop.
        ///
        /// ```swift
        /// let before = loop.counters
        /// // … the code to judge …
        /// print("\(loop.counters.since(before).waits) waits")
        /// ```
        public func since(_ earlier: Counters) -> Counters {
            Counters(
                passes: passes - earlier.passes, waits: waits - earlier.waits, polls: polls - earlier.polls,
                spins: spins - earlier.spins, wakeWrites: wakeWrites - earlier.wakeWrites,
                timerArms: timerArms - earlier.timerArms)
        }
    }

    /// What the loop has done so far. From any thread; a consistent snapshot only on the loop's own thread.
    public var counters: Counters {
        Counters(
            passes: tally.passes.load(ordering: .relaxed), waits: tally.waits.load(ordering: .relaxed),
            polls: tally.polls.load(ordering: .relaxed), spins: tally.spins.load(ordering: .relaxed),
            wakeWrites: waker.writes.load(ordering: .relaxed), timerArms: tally.timerArms.load(ordering: .relaxed))
    }

    /// The stored counters. Relaxed everywhere: they are statistics and order nothing.
    @usableFromInline
    package struct Tally: ~Copyable {
        let passes = Atomic<Int>(0)
        let waits = Atomic<Int>(0)
        let polls = Atomic<Int>(0)
        let spins = Atomic<Int>(0)
        let timerArms = Atomic<Int>(0)

        #if DEBUG && !PLAIN_ATOMICS
            @usableFromInline package typealias Counter = ScheduledAtomic<Int>
        #else
            @usableFromInline package typealias Counter = Atomic<Int>
        #endif

        /// Increments a counter that one thread at a time changes: a plain load and store, no locked instruction.
        @inlinable @inline(__always)
        package static func count(_ counter: borrowing Counter) {
            counter.store(counter.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        }
    }
}
