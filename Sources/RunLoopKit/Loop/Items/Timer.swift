import Synchronization

extension Loop {
    /// Calls its handler at a given time, once or repeatedly.
    ///
    /// A timer does nothing until it is added to a loop, and fires only while that loop runs in one of the timer's
    /// modes. It can be in several modes, but only in one loop at a time. It never fires early. A repeating timer keeps
    /// to its grid of instants, however late or long a call was: it does not drift, and it does not make up for missed
    /// instants with a burst of calls. CF: `CFRunLoopTimer`.
    ///
    /// ```swift
    /// let timer = Loop.Timer(every: .milliseconds(100)) { firing in
    ///     print("due at \(firing.scheduledTime), \(firing.missed) missed")
    /// }
    /// Loop.current.add(timer, in: .default)
    /// ```
    ///
    /// The handler is `@Sendable`. For one that belongs to the main actor or to an actor on the loop, and may access its
    /// state, use an initializer with `isolation:`.
    ///
    /// A timer counts on the loop's clock, which stops while the machine is suspended, or on that of another
    /// ``Loop/TimeBase``.
    ///
    /// Delays and intervals are rounded up to whole nanoseconds. Negative ones count as zero, an interval of zero means
    /// *once*, and a time beyond ``Loop/Instant/distantFuture`` never comes.
    public final class Timer: Item, @unchecked Sendable {
        /// One call of a timer.
        public struct Firing: Sendable {
            /// The timer, such as to invalidate it.
            public let timer: Timer
            /// The instant at which this call was due, on the timer's clock.
            public let scheduledTime: Instant
            /// The number of instants of the timer's grid that were skipped since the previous call, because the loop
            /// was busy, in another mode, or not running. Every instant is either a call or counted here.
            public let missed: Int
        }

        /// What the timer knows of its fire time.
        private enum FireTime {
            /// Not set yet: this long after the timer is first added to a loop.
            case delay(Int64)
            /// Requested before the timer was in a loop. A past time counts as the time of the request, `Rare.request`.
            case asked(Int64)
            /// On the clock of the loop that it is, or was, in.
            case at(Int64)

            enum Kind { case delay, asked, at }
        }

        /// What few timers have, so that the others have room only for a reference to it.
        private final class Rare {
            @exclusivity(unchecked) var tolerance: Int64 = 0

            /// When a fire time was asked for: on the machine's clock, and for a virtual one.
            @exclusivity(unchecked) var request: (settled: Int64, turn: UInt64)?

            /// Grid instants skipped since the last call.
            @exclusivity(unchecked) var missed = 0

            /// Guarded by the loop's lock.
            @exclusivity(unchecked) var otherPlaces: [ObjectIdentifier: HeapPlaces] = [:]

            /// What diagnostics call the timer of a limiter.
            @exclusivity(unchecked) var kind: StaticString?

            var isNeeded: Bool {
                kind != nil || tolerance != 0 || request != nil || missed != 0 || !otherPlaces.isEmpty
            }
        }

        // The small properties come first, and fill a gap of `Item`: a timer has 120 bytes. Exclusivity is unchecked
        // where a lock guards a property, since a checked access costs 90 instructions.

        /// Whether the handler runs. Written with the lock of the loop that it fires on held. Atomic, since the timer
        /// can be moved to another loop meanwhile. Relaxed: it publishes nothing else.
        private let firing = Atomic<Bool>(false)

        /// The clock that the timer counts on.
        public let timeBase: TimeBase

        // These three are written with the loop's lock and the item's lock held while the timer is in a loop, and with
        // the item's lock alone while it is not. So they may be read under either. The first two are `fireTime`.
        @exclusivity(unchecked) private var kindOfTime: FireTime.Kind
        @exclusivity(unchecked) private var time: Int64
        @exclusivity(unchecked) private var rare: Rare?

        /// Nil once the timer is invalid. Guarded by the item's lock.
        @exclusivity(unchecked) private var handler: (@Sendable (Firing) -> Void)?

        /// Nanoseconds; 0 for a timer that fires once.
        private let intervalNanoseconds: Int64

        /// The timer's places in the heap of its mode. Guarded by the loop's lock.
        @exclusivity(unchecked) var places = HeapPlaces()

        private init(
            _ fireTime: FireTime, _ interval: Duration?, _ tolerance: Duration, _ timeBase: TimeBase, _ place: Place,
            _ label: String?, _ handler: @escaping @Sendable (Firing) -> Void
        ) {
            self.timeBase = timeBase
            (kindOfTime, time) = (.delay, 0)
            self.intervalNanoseconds = max(0, interval?.wholeNanoseconds ?? 0)
            self.handler = handler
            super.init(place, label)
            self.fireTime = fireTime
            self.toleranceNanoseconds = allowed(tolerance)
        }

        /// Makes a timer that fires `delay` after it is added to a loop for the first time, and then every `interval`.
        ///
        /// - Parameters:
        ///   - delay: How long to wait at least after the timer is added. If zero or less, the timer fires in the next
        ///     pass.
        ///   - interval: The time between calls; nil, zero or less for a single call.
        ///   - tolerance: How much later than due a call may come; see ``Loop/Timer/tolerance``.
        ///   - timeBase: The clock to count on: whether time in suspend counts.
        ///   - label: What diagnostics call the timer; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the timer, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread. Not called again while it runs, such as by a nested run.
        public convenience init(
            after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
            timeBase: TimeBase = .suspending, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: @escaping @Sendable (_ firing: Firing) -> Void
        ) {
            self.init(
                .delay(max(0, delay.wholeNanoseconds)), interval, tolerance, timeBase, Place(file, line), label, handler
            )
        }

        /// Makes a timer that fires at `time`, and then every `interval`. The time is on the clock of the loop that it
        /// is added to, or on that of another `timeBase` (see ``Loop/now(_:)``). A time in the past counts as now. CF:
        /// `CFRunLoopTimerCreate`.
        public convenience init(
            at time: Instant, repeating interval: Duration? = nil, tolerance: Duration = .zero,
            timeBase: TimeBase = .suspending, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: @escaping @Sendable (_ firing: Firing) -> Void
        ) {
            self.init(.asked(time.nanoseconds), interval, tolerance, timeBase, Place(file, line), label, handler)
        }

        /// Makes a timer that fires every `interval`, first one interval after it is added to a loop.
        public convenience init(
            every interval: Duration, tolerance: Duration = .zero, timeBase: TimeBase = .suspending,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: @escaping @Sendable (_ firing: Firing) -> Void
        ) {
            self.init(
                after: interval, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label,
                file: file, line: line,
                handler: handler)
        }

        /// Makes a timer that fires once, and that diagnostics call by what it belongs to.
        convenience init(
            at time: Instant, _ kind: StaticString, _ place: Place,
            handler: @escaping @Sendable (_ firing: Firing) -> Void
        ) {
            self.init(.asked(time.nanoseconds), nil, .zero, .suspending, place, nil, handler)
            changeRare { $0.kind = kind }
        }

        /// The heap that contains the timer in a mode that it is in. The lock of the mode's loop is held.
        private func heap(in mode: ModeState) -> TimeBase { mode.isVirtual ? .suspending : timeBase }

        // MARK: Properties

        /// The time between two calls; zero for a timer that fires once. CF: `CFRunLoopTimerGetInterval`.
        public var interval: Duration { .nanoseconds(intervalNanoseconds) }

        /// Whether the timer fires repeatedly. CF: `CFRunLoopTimerDoesRepeat`.
        public var repeats: Bool { intervalNanoseconds > 0 }

        /// When the timer fires next; nil if it is invalid, or was made with a delay and not yet added to a loop.
        ///
        /// Any thread may set it, any number of times, and it takes effect at once. A time in the past counts as now;
        /// nil stops the timer until another time is set. The grid of a repeating timer moves with it. Inside the
        /// timer's own handler only a time later than ``Loop/Timer/Firing/scheduledTime`` counts, and a timer that
        /// fires once ends nevertheless. Has no effect on an invalid timer. CF: `CFRunLoopTimerSetNextFireDate`.
        public var nextFireTime: Instant? {
            get {
                itemLock.withLock {
                    guard isValid else { return nil }
                    switch fireTime {
                    case .delay: return nil
                    case .asked(let time), .at(let time):
                        return time == TimerHeap.never ? nil : Instant(nanoseconds: time)
                    }
                }
            }
            set {
                let asked = newValue?.nanoseconds ?? TimerHeap.never
                change { timer, loop in
                    timer.fireTime =
                        if let loop {
                            .at(max(asked, loop.clock.nanoseconds(timer.timeBase)))
                        } else {
                            .asked(asked)
                        }
                }
            }
        }

        /// How much later than due a call may come, so that one wake-up can serve several timers. The loop sleeps until
        /// the first timer that cannot wait longer, and then fires all that are due. The grid of a repeating timer does
        /// not move with it.
        ///
        /// Negative values count as zero; a repeating timer's tolerance is at most half its interval. Any thread may
        /// set it. CF: `CFRunLoopTimerSetTolerance`, which has no effect on Linux.
        public var tolerance: Duration {
            get { .nanoseconds(itemLock.withLock { toleranceNanoseconds }) }
            set { change { timer, _ in timer.toleranceNanoseconds = timer.allowed(newValue) } }
        }

        private func allowed(_ tolerance: Duration) -> Int64 {
            let wanted = max(0, tolerance.wholeNanoseconds)
            return repeats ? min(wanted, intervalNanoseconds / 2) : wanted
        }

        // MARK: What is stored in another form

        private var fireTime: FireTime {
            get {
                switch kindOfTime {
                case .delay: .delay(time)
                case .asked: .asked(time)
                case .at: .at(time)
                }
            }
            set {
                switch newValue {
                case .delay(let time): (kindOfTime, self.time) = (.delay, time)
                case .at(let time): (kindOfTime, self.time) = (.at, time)
                case .asked(let time):
                    (kindOfTime, self.time) = (.asked, time)
                    changeRare { $0.request = (LoopTime.monotonic.nanoseconds(timeBase), Turn.next()) }
                }
            }
        }

        private var toleranceNanoseconds: Int64 {
            get { rare?.tolerance ?? 0 }
            set { if newValue != toleranceNanoseconds { changeRare { $0.tolerance = newValue } } }
        }

        /// Grid instants skipped since the last call.
        private var missed: Int {
            get { rare?.missed ?? 0 }
            set { if newValue != missed { changeRare { $0.missed = newValue } } }
        }

        /// The places in the heaps of further modes. Guarded by the loop's lock; `insert(into:)` makes room for them.
        var otherPlaces: [ObjectIdentifier: HeapPlaces] {
            get { rare?.otherPlaces ?? [:] }
            _modify { yield &rare!.otherPlaces }
        }

        @inline(never)
        private func changeRare(_ body: (Rare) -> Void) {
            let changed = rare ?? Rare()
            body(changed)
            rare = changed.isNeeded ? changed : nil
        }

        // MARK: Times, for the heaps

        /// The times at which the timer may and must fire. The lock of the timer's loop or of the item is held.
        private var times: (deadline: Int64, latest: Int64) {
            guard !firing.load(ordering: .relaxed), case .at(let time) = fireTime else {
                return (TimerHeap.never, TimerHeap.never)
            }
            return (time, time.addingSaturating(toleranceNanoseconds))
        }

        /// Changes the timer's times with the necessary locks held, and updates its heaps.
        private func change(_ body: (Timer, Loop?) -> Void) {
            while true {
                let loop = itemLock.withLock { () -> Loop? in
                    let loop = modesWhileLocked.first?.loop
                    if loop == nil, isValid { body(self, nil) }
                    return loop
                }
                // Again if the timer has moved to another loop meanwhile.
                guard let loop, !loop.lock.withLock({ change(in: loop, body) }) else { return }
            }
        }

        /// The same with the lock of `loop` held. Does nothing and returns false if the timer is not in that loop.
        private func change(in loop: Loop, _ body: (Timer, Loop?) -> Void) -> Bool {
            loop.lock.assertHeld()
            let modes = itemLock.withLock { () -> ModeList? in
                guard modesWhileLocked.first?.waker === loop.waker else { return nil }
                if isValid { body(self, loop) }
                return modesWhileLocked
            }
            guard let modes else { return false }
            let (deadline, latest) = times
            for mode in modes {
                mode.timers[heap(in: mode)].update(self, deadline: deadline, latest: latest)
                loop.timersChanged(in: mode)
            }
            return true
        }

        // MARK: Firing, for the pass

        /// Begins a call. Nil if the timer is no longer due, is firing already, or has left `loop`. The loop's lock is
        /// held.
        func beginFiring(on loop: Loop, at now: Int64) -> Firing? {
            loop.lock.assertHeld()
            let modes = currentModes
            // First: the loop may read the rest only while the timer is in it.
            guard modes.first?.waker === loop.waker, isInHeap, isValid else { return nil }
            guard !firing.load(ordering: .relaxed), case .at(let scheduled) = fireTime, scheduled <= now else {
                return nil
            }
            firing.store(true, ordering: .relaxed)
            // A firing timer stays at the end of the heaps, or a nested run would see it as due forever.
            for mode in modes {
                mode.timers[heap(in: mode)].update(self, deadline: TimerHeap.never, latest: TimerHeap.never)
            }
            return Firing(timer: self, scheduledTime: Instant(nanoseconds: scheduled), missed: missed)
        }

        func fire(_ firing: Firing) { currentHandler?(firing) }

        /// Not by `withLock`: see `Observer.currentHandler`.
        private var currentHandler: (@Sendable (Firing) -> Void)? {
            itemLock.lock()
            defer { itemLock.unlock() }
            return handler
        }

        /// Ends a call, made on `loop`: invalidates a timer that fires once; moves a repeating one along its grid.
        func endFiring(_ call: Firing, on loop: Loop) {
            guard repeats else {
                invalidate()
                firing.store(false, ordering: .relaxed)
                return
            }
            let now = loop.clock.nanoseconds(timeBase)
            let advance = { (timer: Timer, _: Loop?) in
                timer.firing.store(false, ordering: .relaxed)
                timer.advance(from: call.scheduledTime.nanoseconds, now: now)
            }
            // The handler may have moved the timer to another loop.
            if !loop.lock.withLock({ change(in: loop, advance) }) { change(advance) }
        }

        /// Moves the fire time to the next instant of the grid, unless the handler has set one that is later than the
        /// served one. The locks are held.
        private func advance(from scheduled: Int64, now: Int64) {
            guard case .at(let time) = fireTime, time <= scheduled else { return missed = 0 }
            let late = now.subtractingReportingOverflow(scheduled)
            let periods = (late.overflow ? Int64.max : max(0, late.partialValue)) / intervalNanoseconds
            missed = Int(periods)
            fireTime = .at(
                scheduled.addingSaturating(periods * intervalNanoseconds).addingSaturating(intervalNanoseconds))
        }

        /// The served instant while the handler runs, otherwise the next one.
        var servedOrNextTime: Int64 {
            if case .at(let time) = fireTime { time } else { TimerHeap.never }
        }

        // MARK: Item

        override var kind: String { itemLock.withLock { rare?.kind?.description } ?? "timer" }

        override var status: ItemStatus {
            if firing.load(ordering: .relaxed) { return .inHandler }
            let rest =
                (timeBase == .continuous ? " of the continuous clock" : "") + (repeats ? ", every \(interval)" : "")
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

        override var canBeInManyLoops: Bool { false }

        override func insert(into mode: ModeState) {
            guard let loop = mode.loop else { return }
            if timeBase == .continuous { loop.openContinuousTimer() }
            var turn: UInt64?
            itemLock.withLock {
                // The clock is read here: a deadline is never counted from an older time.
                switch fireTime {
                case .delay(let delay):
                    fireTime = .at(loop.clock.nanoseconds(timeBase).addingSaturating(delay))
                case .asked(let time):
                    let request = rare!.request!
                    let now = loop.clock.nanoseconds(settled: request.settled, atTurn: request.turn)
                    if time <= now { turn = request.turn }
                    fireTime = .at(max(time, now))
                    changeRare { $0.request = nil }
                case .at:
                    break
                }
                // For the places in this mode.
                if isInHeap, rare == nil { rare = Rare() }
            }
            let (deadline, latest) = times
            mode.timers[heap(in: mode)].insert(self, deadline: deadline, latest: latest, turn: turn)
            loop.timersChanged(in: mode)
        }

        override func remove(from mode: ModeState) {
            mode.timers[heap(in: mode)].remove(self)
            // An early wake-up is harmless; but a virtual clock would jump to a deadline that no longer exists.
            if mode.isVirtual { mode.loop?.timersChanged(in: mode) }
        }

        override func releaseHandlers() { releaseUnlocked { handler.take() } }
    }
}
