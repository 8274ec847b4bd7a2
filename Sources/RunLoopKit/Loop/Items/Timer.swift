import Synchronization

extension Loop {
    /// Calls its handler at a given time, once or repeatedly. Any thread may use it; the handler runs on the loop's
    /// thread. CF: `CFRunLoopTimer`.
    ///
    /// A timer fires only while its loop runs in one of its modes, and never early. A repeating timer keeps to its grid
    /// of instants, however late or long a call was. It makes one call for all instants that it missed.
    ///
    /// ```swift
    /// let timer = Loop.Timer(every: .milliseconds(100)) { firing in
    ///     print("due at \(firing.scheduledTime), \(firing.missed) missed")
    /// }
    /// Loop.current.add(timer, in: .default)
    /// ```
    ///
    /// - *Handlers* are `@Sendable`; an initializer with `isolation:` takes one of an actor. The timer retains its
    ///   handler: capture `[weak self]`, and see ``Loop/Item``.
    /// - *Modes:* a timer can be in several modes, but only in one loop at a time.
    /// - *The clock* is the loop's, which stops while the machine is suspended, or another ``Loop/TimeBase``, such as
    ///   the time of day.
    /// - *Durations* are rounded up to whole nanoseconds. Negative ones count as zero, and an interval of zero means
    ///   *once*. A time beyond ``Loop/Instant/distantFuture`` never comes.
    public final class Timer: Item, @unchecked Sendable {
        /// One call of a timer.
        public struct Firing: Sendable {
            /// The timer, for example to invalidate it.
            public let timer: Timer
            /// The instant at which this call was due, on the timer's clock.
            public let scheduledTime: Instant
            /// The number of instants of the grid that were skipped since the previous call, because the loop was busy,
            /// in another mode, or not running. Every instant is either a call or counted here. Those that pass while a
            /// call is late, or takes long, count in the next call.
            public let missed: Int
            /// Whether an earlier call of the timer has not returned.
            let isNested: Bool
            /// Whether the call may begin before it is due: of a precise timer, whose loop spins until then.
            let isEarly: Bool
        }

        /// What becomes of the timer when its handler returns.
        enum AfterCall: Equatable {
            enum Limiter: String {
                case throttle, debounce
                case pacedQueue = "paced queue"
            }

            /// It is invalidated.
            case ends
            case repeats
            /// It stays without a fire time, until it is restarted.
            case waits
            /// The same; and if the handler has restarted it, a nested run calls the handler again. For limiters, which
            /// diagnostics name instead of the timer.
            case waitsAndNests(in: Limiter)
        }

        // The small properties come first, and fill a gap of `Item`. Exclusivity is unchecked where a lock guards a
        // property, since a checked access costs 90 instructions.

        /// Whether the handler must not be called now: it runs, or there is none. Written with the item's lock held.
        /// Atomic, since others read it without. Relaxed: it publishes nothing else.
        let firing = Atomic<Bool>(false)

        /// Whether the handler runs.
        var isInHandler: Bool { firing.load(ordering: .relaxed) && hasHandler }

        /// The clock that the timer counts on.
        public let timeBase: TimeBase

        let afterCall: AfterCall

        /// Whether the next call of a repeating timer on the wall clock must not come before `time`, even if the clock
        /// is set back: the time was requested, and has not come yet. Guarded by the item's lock.
        @exclusivity(unchecked) var hasFixedTime = false

        /// The value of `isPrecise`. Written with the item's lock held and, while the timer is in a loop, with that of
        /// the loop as well; so it may be read under either.
        @exclusivity(unchecked) var isKeptPrecise = false

        /// The timer's slot in the heap of a mode. Guarded by the loop's lock.
        @exclusivity(unchecked) var slot = noSlot

        // These two are `fireTime`. Written with the item's lock held and, while the timer is in a loop, with that of
        // the loop as well, whose heaps sort by them: so they may be read under either.
        @exclusivity(unchecked) var time: Int64 = 0
        @exclusivity(unchecked) var turn: UInt64 = 0

        /// Nil before it is set, once the timer is invalid, and while it waits in a `TimerPool`. Guarded by the item's
        /// lock.
        @exclusivity(unchecked) var handler: (@Sendable (Firing) -> Void)?

        /// In nanoseconds: the interval of a timer that repeats; the delay of another one, or -1 if it has none.
        let period: Int64

        /// - Parameters:
        ///   - firstDelay: The delay of a repeating timer, if it is not the interval.
        private init(
            _ fireTime: FireTime, _ afterCall: AfterCall, period: Int64, firstDelay: Int64? = nil,
            _ tolerance: Duration, _ timeBase: TimeBase, _ place: Place, _ label: String?,
            _ handler: (@Sendable (Firing) -> Void)?
        ) {
            self.timeBase = timeBase
            self.afterCall = afterCall
            self.period = period
            self.handler = handler
            let tolerance = Timer.allowed(tolerance, period: period, repeats: afterCall == .repeats)
            let isRare = tolerance > 0 || firstDelay != nil
            // All before the object is complete, and without the setter of `fireTime`, for which it would be retained.
            if case .delay(let delay) = fireTime { time = delay }
            super.init(place, label, isRare ? Rare(tolerance: tolerance, delay: firstDelay) : nil)
            if case .delay = fireTime {} else { self.fireTime = fireTime }
            if handler == nil {
                firing.store(true, ordering: .relaxed)
                waitForHandler()
            }
        }

        /// Makes a timer that fires `delay` after it is added to a loop for the first time, and then every `interval`.
        ///
        /// - Parameters:
        ///   - delay: How long to wait at least after the timer is added. If zero or less, the timer is due at once,
        ///     and called after what the loop has already found ready.
        ///   - interval: The time between calls; nil, zero or less for a single call.
        ///   - tolerance: How much later than due a call may come; see ``Loop/Timer/tolerance``.
        ///   - timeBase: The clock to count on.
        ///   - label: What diagnostics call the timer; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the timer, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread. Not called again while it runs, not even by a nested run. Nil to
        ///     set it later: ``setHandler(_:)``.
        public convenience init(
            after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
            timeBase: TimeBase = .suspending, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: (@Sendable (_ firing: Firing) -> Void)? = nil
        ) {
            let (delay, interval) = (max(0, delay.wholeNanoseconds), interval?.wholeNanoseconds ?? 0)
            let repeats = interval > 0
            self.init(
                .delay(delay), repeats ? .repeats : .ends, period: repeats ? interval : delay,
                firstDelay: repeats && delay != interval ? delay : nil, tolerance, timeBase, Place(file, line), label,
                handler)
        }

        /// Makes a timer for a timeout: it fires `delay` after it is added to a loop for the first time, and again
        /// after each restart. Restarting it is cheap enough for every packet: see <doc:Timers#Timeouts>.
        ///
        /// ```swift
        /// let timeout = Loop.Timer(restartableAfter: .seconds(30)) { _ in connection.sendPing() }
        /// loop.add(timeout)
        /// connection.onPacket = { timeout.restart() }
        /// connection.onClose = { timeout.invalidate() }
        /// ```
        ///
        /// - After a call the timer stays in its modes without a fire time, until ``restart()``, ``restart(after:)`` or
        ///   ``nextFireTime`` gives it one. It keeps no run going meanwhile.
        /// - A ``nextFireTime`` that is set before the timer is added replaces the delay; nil lets it wait for its
        ///   first restart.
        /// - Its loop retains the timer until ``Loop/Item/invalidate()``.
        ///
        /// CF: a `CFRunLoopTimer` that repeats after a very long interval, whose fire date is set.
        ///
        /// - Parameters:
        ///   - delay: How long to wait at least after the timer is added, or restarted by ``restart()``. If zero or
        ///     less, the timer is due at once.
        ///   - tolerance: How much later than due a call may come; see ``Loop/Timer/tolerance``.
        ///   - timeBase: The clock to count on.
        ///   - label: What diagnostics call the timer; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the timer, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread. Not called again while it runs, not even by a nested run. Nil to
        ///     set it later: ``setHandler(_:)``.
        public convenience init(
            restartableAfter delay: Duration, tolerance: Duration = .zero, timeBase: TimeBase = .suspending,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: (@Sendable (_ firing: Firing) -> Void)? = nil
        ) {
            let delay = max(0, delay.wholeNanoseconds)
            self.init(
                .delay(delay), .waits, period: delay, tolerance, timeBase, Place(file, line), label, handler)
        }

        /// Makes a timer that fires at `time`, and then every `interval`. The time is on the loop's clock, or on that
        /// of another `timeBase` (see ``Loop/now(_:)``).
        ///
        /// A time in the past counts as now. For a repeating timer on the wall clock it counts as the next instant of
        /// its grid. CF: `CFRunLoopTimerCreate`.
        public convenience init(
            at time: Instant, repeating interval: Duration? = nil, tolerance: Duration = .zero,
            timeBase: TimeBase = .suspending, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: (@Sendable (_ firing: Firing) -> Void)? = nil
        ) {
            let interval = interval?.wholeNanoseconds ?? 0
            self.init(
                .asked(time.nanoseconds), interval > 0 ? .repeats : .ends, period: interval > 0 ? interval : -1,
                tolerance, timeBase, Place(file, line), label, handler)
        }

        /// Makes a timer that fires every `interval`, first one interval after it is added to a loop.
        public convenience init(
            every interval: Duration, tolerance: Duration = .zero, timeBase: TimeBase = .suspending,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: (@Sendable (_ firing: Firing) -> Void)? = nil
        ) {
            self.init(
                after: interval, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label,
                file: file, line: line,
                handler: handler)
        }

        /// Makes the timer of a limiter.
        convenience init(
            at time: Int64, in limiter: AfterCall.Limiter, _ place: Place,
            handler: @escaping @Sendable (_ firing: Firing) -> Void
        ) {
            self.init(
                .asked(min(time, TimerHeap.stopped)), .waitsAndNests(in: limiter), period: -1, .zero, .suspending,
                place, nil, handler)
        }

        /// Sets what the loop calls, from the next call on. A timer that became due without a handler fires once, in
        /// the first pass after. ``Loop/Item`` has the rules: a call that runs finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread. Not called again while it runs.
        /// - Returns: Whether the timer is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping @Sendable (_ firing: Firing) -> Void) -> Bool {
            set(handler, .nothing)
        }

        func set(_ handler: @escaping @Sendable (Firing) -> Void, _ isolation: Isolation) -> Bool {
            var new: (@Sendable (Firing) -> Void)? = handler
            return replaceHandler(isolation) {
                swap(&self.handler, &new)
                if !hasHandler { firing.store(false, ordering: .relaxed) }
            }
        }

        override func makeRare() -> Loop.Item.Rare { Rare() }

        /// What few timers have; see `rareProperties`.
        @inline(__always)
        var rare: Rare? {
            guard let rareProperties else { return nil }
            return unsafeDowncast(rareProperties, to: Rare.self)
        }

        /// Whether the timer belongs to a limiter.
        var isOfLimiter: Bool { limiter != nil }

        private var limiter: AfterCall.Limiter? {
            if case .waitsAndNests(let limiter) = afterCall { limiter } else { nil }
        }

        // MARK: Properties

        /// The time between two calls; zero for a timer that does not repeat. CF: `CFRunLoopTimerGetInterval`.
        public var interval: Duration { repeats ? .nanoseconds(period) : .zero }

        /// Whether the timer fires repeatedly. CF: `CFRunLoopTimerDoesRepeat`.
        public var repeats: Bool { afterCall == .repeats }

        var waitsAfterCall: Bool { afterCall == .waits || isOfLimiter }

        // MARK: Firing, for the pass

        /// Begins a call. Nil if the timer is no longer due, is firing already, or has left `loop`. The loop's lock is
        /// held.
        func beginFiring(on loop: Loop, in mode: ModeState, at now: Int64) -> Firing? {
            loop.lock.assertHeld()
            itemLock.lock()
            defer { itemLock.unlock() }
            let isEarly = heap(in: mode) == .precise
            let limit = isEarly ? now.addingSaturating(HeadStart.ofPass) : now
            guard firstModeWhileLocked?.waker === loop.waker, isInHeap, isValid, heapTimes.deadline <= limit else {
                return nil
            }
            let isNested = firing.exchange(true, ordering: .relaxed)
            let scheduled = Instant(nanoseconds: time)
            if waitsAfterCall { time = TimerHeap.never }
            // A nested run does not see the timer as due.
            moveInHeaps()
            return Firing(
                timer: self, scheduledTime: scheduled, missed: missed, isNested: isNested, isEarly: isEarly)
        }

        func fire(_ firing: Firing) { currentHandler?(firing) }

        /// Not by `withLock`: see `Observer.currentHandler`.
        private var currentHandler: (@Sendable (Firing) -> Void)? {
            itemLock.lock()
            defer { itemLock.unlock() }
            return handler
        }

        /// Ends a call: invalidates a timer that fires once; moves a repeating one along its grid.
        func endFiring(_ call: Firing, on loop: Loop) {
            switch afterCall {
            case .ends:
                invalidate()
                firing.store(false, ordering: .relaxed)
            case .repeats:
                change { clock in
                    firing.store(false, ordering: .relaxed)
                    // Read here: a wall clock that is set before leaves the timer alone, since its handler runs.
                    let now = (clock ?? loop.clock).nanoseconds(timeBase)
                    advance(from: call.scheduledTime.nanoseconds, now: now)
                }
            case .waits, .waitsAndNests:
                if !call.isNested { change { _ in firing.store(false, ordering: .relaxed) } }
            }
        }

        /// Moves the fire time to the next instant of the grid, unless the handler has set one that is later than the
        /// served one. The item's lock is held.
        private func advance(from scheduled: Int64, now: Int64) {
            guard case .at(let time) = fireTime, time <= scheduled else { return missed = 0 }
            if timeBase == .wallClock { return advanceOnWallClock(from: scheduled, now: now) }
            // Nearly always the call was in time: then without a division.
            let next = scheduled.addingSaturating(period)
            guard next <= now else {
                missed = 0
                return fireTime = .at(next)
            }
            let late = now.subtractingReportingOverflow(scheduled)
            let periods = (late.overflow ? Int64.max : late.partialValue) / period
            missed = Int(clamping: periods)
            fireTime = .at(scheduled.addingSaturating(periods * period).addingSaturating(period))
        }

        // MARK: Item

        override var kind: String { limiter.map { "\($0.rawValue) timer" } ?? "timer" }

        override var status: ItemStatus {
            if isInHandler { return .inHandler }
            let rest =
                (timeBase == .suspending ? "" : " of the \(timeBase == .continuous ? "continuous" : "wall") clock")
                + (repeats ? ", every \(interval)" : "")
            switch itemLock.withLock({ fireTime }) {
            case .delay(let delay): return .waits("\(Duration.nanoseconds(delay)) after it is added" + rest)
            case .asked(TimerHeap.never), .at(TimerHeap.never): return .disarmed("no fire time" + rest)
            case .asked(let time), .at(let time):
                let clock = currentModes.first?.loop?.clock ?? .monotonic
                let left = time.subtractingReportingOverflow(clock.nanoseconds(timeBase)).partialValue
                if left <= 0 { return .ready("due" + rest) }
                return .waits("fires in \(Duration.nanoseconds(left))" + rest)
            }
        }

        override func insert(into mode: ModeState, of loop: Loop) {
            if timeBase != .suspending { loop.openTimer(on: timeBase) }
            itemLock.lock()
            settleTime(on: loop.clock)
            // For the slot in this mode.
            if isInHeap { needRare() }
            let times = heapTimes
            itemLock.unlock()
            mode.insert(self, times, in: heap(in: mode))
            loop.timersChanged(in: mode)
        }

        override func remove(from mode: ModeState) {
            mode.remove(self, from: heap(in: mode))
            // An early wake-up is harmless; but a virtual clock would jump to a deadline that no longer exists.
            if mode.isVirtual { mode.loop?.timersChanged(in: mode) }
        }

        /// The heaps have had the timer as one that is not due.
        override func hasGotHandler() { change { _ in } }

        /// The thread has exited in the handler. Called without any lock.
        func handlerNeverReturns() {
            if afterCall == .ends { invalidate() }
            change { _ in firing.store(false, ordering: .relaxed) }
        }

        /// Not by `releaseUnlocked`, which is generic and so allocates a closure around the handler: to add and
        /// invalidate a timer would take 1,590 instructions instead of 1,320.
        override func releaseHandlers() {
            itemLock.lock()
            let released = handler
            handler = nil
            itemLock.unlock()
            _ = consume released
        }
    }
}
