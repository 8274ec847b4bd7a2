extension Loop {
    /// A child process that is started again when it ends: later each time that it ends soon. Any thread may use it;
    /// its closures are called on the loop's thread.
    ///
    /// ```swift
    /// let server = Loop.SupervisedChild(on: loop, quickEndLimit: 5) {
    ///     try Loop.ChildProcess("server", ["--port", "7007"])
    /// }
    /// server.start { server, event in
    ///     switch event {
    ///     case .started(let child): print("started process \(child.process)")
    ///     case .ended(let exit, let pause): print("it \(exit)", pause.map { "and starts again in \($0)" } ?? "")
    ///     case .notStarted(let error, _): print("not started: \(error)")
    ///     case .over(let reason): print("over: \(reason)")
    ///     }
    /// }
    /// ```
    ///
    /// - *The closure* starts each child, when its time has come: with the streams, variables and label that the child
    ///   shall have, and without a handler. A ``Loop/ChildProcess/end(after:within:)`` there limits each one's time: to
    ///   ask at its end whether that was over, keep the child that ``Event/started(_:)`` has.
    /// - *Pauses:* before each new start the loop waits as the ``Loop/Backoff`` says, even if the last child could not
    ///   be started. A child that has run for `settlingTime` has settled: the next pause is the first one again.
    /// - *Success:* an exit with 0 is final, if `restarts` is ``Restart/onFailure``.
    /// - *Giving up:* with a `quickEndLimit`, so many ends in a row of children that have not settled, or could not be
    ///   started, are the last. A `quickEndPeriod` replaces this rule: so many ends in any such period are the last,
    ///   however long each child has run.
    /// - *Others in a child's group,* such as what a shell has started, are ended when it has ended by itself, before
    ///   ``Event/ended(_:restartsAfter:)`` is reported, and before another child starts: see `othersGrace`.
    /// - *A restart on purpose:* ``restart(within:)``. With ``Restart/onDemand`` there is no other.
    /// - *The end:* ``end(within:)`` ends the child with a grace period, and starts no other. ``Event/over(_:)`` is the
    ///   last event, in any case but one: if the loop ends before, the child is left running, and nothing is reported.
    /// - *In virtual time* the pauses are virtual, and the children are real. A child that runs takes no time, unless
    ///   something else in the loop does.
    ///
    /// The loop retains the object from ``start(_:)`` until it is over, with one timer or one child at a time, which
    /// keep runs going, even while it rests.
    ///
    /// CF: none. systemd: `Restart`, `RestartSec`, `StartLimitBurst` and `StartLimitIntervalSec`; Erlang: `supervisor`
    /// with its `intensity` and `period`; runit: `runsv`.
    public final class SupervisedChild: CustomStringConvertible, @unchecked Sendable {
        /// The type of the handler.
        public typealias Handler = @Sendable (_ supervised: SupervisedChild, _ event: Event) -> Void

        // | the state is | then comes | and it is |
        // |---|---|---|
        // | idle | `start` | pausing |
        // | pausing | the timer fires | starting |
        // | resting, as a pause without an end | `restart` or `end` lets the timer fire | starting, or over |
        // | starting | the closure returns a child; or throws | running; or pausing, resting, or over |
        // | running | the child's end | pausing, resting, or ending |
        // | ending | the end of the others in its group, or of their grace period | over |
        private enum State { case idle, pausing, resting, starting, running, ending, over }

        /// What comes after a child's end, or a start that has failed.
        private enum Next {
            case pause(Duration)
            /// Until a restart on purpose.
            case rest
            case over(Reason)

            /// The pause that is reported.
            var pause: Duration? { if case .pause(let length) = self { length } else { nil } }
        }

        private let loop: Loop
        private let mode: Mode
        private let restarts: Restart
        private let settlingTime: Duration
        private let othersGrace: Duration?
        private let place: Place
        private let makeChild: @Sendable () throws -> ChildProcess
        private let lock = Lock(.leaf)

        // Guarded by `lock`, and exclusivity is unchecked for that.
        @exclusivity(unchecked) private var state = State.idle
        @exclusivity(unchecked) private var backoff: Backoff
        @exclusivity(unchecked) private var limit: SupervisedChildLimit
        @exclusivity(unchecked) private var startTime = Instant(nanoseconds: 0)
        @exclusivity(unchecked) private var isLastEndAskedFor = false
        /// Nil before `start`, and when it is over.
        @exclusivity(unchecked) private var handler: Handler?
        /// The grace period, once the end was asked for.
        @exclusivity(unchecked) private var grace: Duration?
        /// The grace period of the child that runs, or is being started, if its end is a restart on purpose.
        @exclusivity(unchecked) private var restartGrace: Duration?
        /// Nil before `start`, and when it is over.
        @exclusivity(unchecked) private var endHandler: EndHandler?
        // The loop retains them, and they retain this object.
        @exclusivity(unchecked) private weak var currentChild: ChildProcess?
        @exclusivity(unchecked) private weak var timer: Timer?

        /// Makes a supervised child, which ``start(_:)`` starts. On any thread.
        ///
        /// - Parameters:
        ///   - loop: The loop of the children and of the pauses.
        ///   - mode: The mode in which they are.
        ///   - backoff: The pauses.
        ///   - restarts: When a child that has ended is started again.
        ///   - settlingTime: How long a child must have run to count as settled, on the loop's clock. Nil, the default:
        ///     as long as the longest pause.
        ///   - quickEndLimit: How many ends in a row may come before a child has settled; the last of them is final. A
        ///     failed start counts as an end. Less than 1 counts as 1. Nil for any number. With a `settlingTime` of
        ///     `.seconds(Int64.max)` it limits the starts.
        ///   - quickEndPeriod: A period on the loop's clock, wherever it begins, in which `quickEndLimit` ends are too
        ///     many, however long each child has run: 5 in 60 seconds. A restart on purpose does not count, and takes
        ///     back no earlier end. An end that is exactly a period old counts. Zero or less: only ends at the same
        ///     moment are together. `.seconds(Int64.max)`: all are. Nil, the default: only quick ends in a row count.
        ///   - othersGrace: How long others in a child's group may live on when it has ended by itself: SIGTERM is sent
        ///     at once, and SIGKILL then, as by ``ChildProcess/endOthers(within:)``, which a child may have called with
        ///     another period. Nil to leave them alone.
        ///   - label: What diagnostics call the timer of the pauses; nil to call it by the place where this was made.
        ///   - file: The source file that makes the object, for diagnostics.
        ///   - line: The line in that file.
        ///   - start: Called on the loop's thread for each child. It returns a new one, in no loop and without a
        ///     handler.
        public init(
            on loop: Loop = .current, in mode: Mode = .common, backoff: Backoff = Backoff(),
            restarts: Restart = .onFailure, settlingTime: Duration? = nil, quickEndLimit: Int? = nil,
            quickEndPeriod: Duration? = nil, othersGrace: Duration? = .seconds(5), label: String? = nil,
            file: StaticString = #fileID, line: UInt = #line,
            start: @escaping @Sendable () throws -> ChildProcess
        ) {
            (self.loop, self.mode, self.backoff, self.restarts) = (loop, mode, backoff, restarts)
            self.settlingTime = settlingTime ?? backoff.maximum
            limit = SupervisedChildLimit(restarts == .onDemand ? nil : quickEndLimit, in: quickEndPeriod)
            self.othersGrace = othersGrace
            self.place = Place(label, file, line)
            makeChild = start
        }

        /// Starts the first child, as soon as the loop runs. From any thread, once.
        ///
        /// - Parameter handler: Called on the loop's thread with each event, in order. Released after the last one.
        /// - Returns: Whether it will be started. False if the loop has ended; after ``end(within:)``; and at a second
        ///   call, which does nothing.
        @discardableResult
        public func start(_ handler: @escaping Handler) -> Bool {
            let isFirst = lock.withLock {
                guard case .idle = state else { return false }
                (self.state, self.handler) = (.pausing, handler)
                return true
            }
            guard isFirst else { return false }
            // A child that the program retains is not released at the loop's end.
            let endHandler = loop.onEnd { [weak self] in self?.releaseHandler() }
            lock.withLock { self.endHandler = endHandler }
            if pause(for: .zero) { return true }
            releaseHandler()
            return false
        }

        /// Starts the first child, on ``Loop/main``, with a handler that belongs to the main actor, and may touch its
        /// state. Otherwise as ``start(_:)``.
        ///
        /// - Parameters:
        ///   - mainActor: `.shared`.
        ///   - handler: Called on the main thread with each event, in order.
        /// - Returns: As ``start(_:)``. False, too, if the loop is neither ``Loop/main`` nor in virtual time, which is
        ///   reported as ``Loop/Mistake/refusedItem(item:reason:)``.
        @discardableResult
        public func start(
            isolation mainActor: MainActor,
            _ handler: @escaping @MainActor (_ supervised: SupervisedChild, _ event: Event) -> Void
        ) -> Bool {
            guard loop.takesMainActor else {
                Mistakes.shared.report(.refusedItem(item: name, reason: .itemIsForMainActor))
                return false
            }
            let handler = unsafeBitCast(handler, to: Handler.self)
            if loop.isMain { return start(handler) }
            return start { [name] supervised, event in
                Loop.requireMainActor(name)
                handler(supervised, event)
            }
        }

        /// Ends the child, as ``Loop/ChildProcess/end(within:)`` does, and starts no other. From any thread.
        ///
        /// ``Event/over(_:)`` is reported when nothing in the child's group is left, or SIGKILL was sent; in a pause or
        /// a rest, as soon as the loop comes around, whatever earlier children have left. What the child has written to
        /// a pipe may be read later. A grace period beyond ``Loop/Instant/distantFuture`` waits only for the child.
        ///
        /// - *A second call* starts no second grace period. Of the two the one counts that ends first.
        /// - *Before* ``start(_:)`` it makes that return false. No event is reported.
        ///
        /// - Parameter grace: How long to wait before SIGKILL. Zero or less: it follows SIGTERM at once.
        /// - Returns: Whether it was not over.
        @discardableResult
        public func end(within grace: Duration) -> Bool {
            let (wasOpen, child, timer) = lock.withLock { () -> (Bool, ChildProcess?, Timer?) in
                switch state {
                case .over: return (false, nil, nil)
                case .idle: state = .over
                case .pausing, .resting, .starting, .running, .ending: self.grace = min(self.grace ?? grace, grace)
                }
                return (true, currentChild, self.timer)
            }
            child?.end(within: grace)
            timer?.nextFireTime = loop.now
            return wasOpen
        }

        /// Ends the child that runs, and starts another one at once, as for a new configuration. From any thread. Such
        /// an end is neither quick nor final, and the next pause after it is the first one. A pause ends at once, as
        /// does the rest of ``Restart/onDemand``: then a child is started, and no end is reported.
        ///
        /// ``Event/ended(_:restartsAfter:)`` reports it with a pause of zero. A second call before the child has ended
        /// restarts it once; of the two periods the one counts that ends first. If it comes while the closure starts a
        /// child, it is of that child; if the closure throws, it has failed, and the pause that is reported, or the
        /// rest, holds.
        ///
        /// - *Over,* as after it gave up, it starts no other child: make another ``SupervisedChild``.
        /// - *Earlier ends* in a `quickEndPeriod` still count. As a call ends the pause, they come closer together.
        ///
        /// - Parameter grace: How long to wait before SIGKILL. Zero or less: it follows SIGTERM at once.
        /// - Returns: Whether another child will be started, unless that fails. False before ``start(_:)``, after
        ///   ``end(within:)``, and once it is over.
        @discardableResult
        public func restart(within grace: Duration) -> Bool {
            let (isAccepted, child, timer) = lock.withLock { () -> (Bool, ChildProcess?, Timer?) in
                guard self.grace == nil else { return (false, nil, nil) }
                switch state {
                case .idle, .ending, .over: return (false, nil, nil)
                case .pausing, .resting: return (true, nil, self.timer)
                case .starting, .running:
                    restartGrace = min(restartGrace ?? grace, grace)
                    return (true, currentChild, nil)
                }
            }
            child?.end(within: grace)
            timer?.nextFireTime = loop.now
            return isAccepted
        }

        /// The child that runs, if one does.
        public var child: ChildProcess? { lock.withLock { state == .ending ? nil : currentChild } }

        /// Whether the latest child to end was asked to, by ``restart(within:)`` or ``end(within:)``, before its end
        /// was reported. False before the first end. From any thread.
        ///
        /// A handler tells by it a restart on purpose from a crash:
        /// `case .ended(let exit, _) where !supervised.lastEndWasAskedFor: print("it crashed: \(exit)")`. It stays the
        /// same until another child has ended, whatever other threads ask for meanwhile.
        ///
        /// What the child itself is asked does not count: see ``Loop/ChildProcess/isOverTimeLimit``.
        public var lastEndWasAskedFor: Bool { lock.withLock { isLastEndAskedFor } }

        /// What it does now.
        public var description: String {
            let (state, child, isEnding) = lock.withLock { (self.state, currentChild, grace != nil) }
            let now =
                switch state {
                case .idle: "not started"
                case .pausing: "in a pause"
                case .resting: "rests until a restart"
                case .starting, .running: child.map { "process \($0.process)" } ?? "starting"
                case .ending: child.map { "others in the group of process \($0.process)" } ?? "ending"
                case .over: "over"
                }
            return "\(name): \(now)" + (isEnding && state != .over ? ", asked to end" : "")
        }

        private var name: String {
            place.isLabel ? "supervised child \"\(place)\"" : "supervised child (\(place))"
        }

        // MARK: On the loop's thread

        /// Begins a pause; nil for a rest. Returns false if the loop refuses its timer.
        private func pause(for pause: Duration?) -> Bool {
            let attention = Attention(of: self)
            // That of a rest never comes, but keeps runs going.
            let label = "\(pause == nil ? "rest" : "pause") of \(name)"
            let timer = Timer(after: pause ?? .seconds(Int64.max), label: label) { _ in attention.pauseIsOver() }
            let isEnding = lock.withLock {
                (state, self.timer) = (pause == nil ? .resting : .pausing, timer)
                return grace != nil || restartGrace != nil
            }
            // What was asked for before has found no timer.
            if isEnding { timer.nextFireTime = loop.now }
            if loop.insert(timer, in: mode) { return true }
            attention.isOver = true
            return false
        }

        private func pauseIsOver() {
            let isEnding = lock.withLock { () -> Bool? in
                guard state == .pausing || state == .resting else { return nil }
                if grace == nil { (state, restartGrace) = (.starting, nil) }
                return grace != nil
            }
            guard let isEnding else { return }
            if isEnding { return finish(.ended) }
            do {
                watch(try makeChild())
            } catch {
                goOn(after: nil) { .notStarted(error, restartsAfter: $0) }
            }
        }

        private func watch(_ child: ChildProcess) {
            let attention = Attention(of: self)
            let hasHandler = child.setHandler { child, exit in attention.childHasEnded(child, exit) }
            require(hasHandler, "The closure of the \(name) has returned a child that is invalid: start a new one.")
            let now = loop.now
            if let othersGrace { child.endOthersIfNotAsked(within: othersGrace) }
            let grace = lock.withLock { () -> Duration? in
                (state, currentChild, startTime) = (.running, child, now)
                return self.grace
            }
            guard loop.insert(child, in: mode) else {
                if !loop.isClosing {
                    Mistakes.shared.report(.refusedItem(item: child.name, reason: .itemIsInAnotherLoop))
                }
                child.end(within: grace ?? .zero)
                finish(.ended)
                return child.invalidate()
            }
            if let grace { child.end(within: grace) }
            // For a restart that was asked for while the closure made the child.
            if let grace = lock.withLock({ restartGrace }) { child.end(within: grace) }
            report(.started(child))
        }

        /// What the handler of a child, or of a pause's timer, retains. If it is released without having been called,
        /// the child was taken away, or the loop has ended.
        private final class Attention: @unchecked Sendable {
            private let supervised: SupervisedChild
            /// Accessed by one thread at a time, and then by the one that releases this.
            @exclusivity(unchecked) var isOver = false

            init(of supervised: SupervisedChild) { self.supervised = supervised }

            func childHasEnded(_ child: ChildProcess, _ exit: ChildProcess.Exit) {
                isOver = true
                // Another loop may have it: it was refused for that reason, or the program has moved it.
                guard supervised.loop.isOnOwnThread, supervised.isRunning else { return supervised.isLost() }
                supervised.goOn(after: (child, exit)) { .ended(exit, restartsAfter: $0) }
            }

            func pauseIsOver() {
                isOver = true
                supervised.pauseIsOver()
            }

            deinit { if !isOver { supervised.isLost() } }
        }

        /// Called on any thread: the child is invalid, or has another handler; or the loop has ended.
        private func isLost() {
            guard loop.isOfThisProcess, isWaiting else { return }
            let isAccepted = loop.perform(in: [mode], place) { [self] in if isWaiting { finish(.ended) } }
            if !isAccepted { releaseHandler() }
        }

        private var isRunning: Bool { lock.withLock { state == .running } }
        private var isWaiting: Bool { lock.withLock { [.running, .pausing, .resting].contains(state) } }

        /// What comes after a child's end; after none, if it could not be started.
        private func next(after end: (child: ChildProcess, exit: ChildProcess.Exit)?) -> Next {
            let now = end?.child.endTime ?? loop.now
            return lock.withLock {
                let next = nextWhileLocked(after: end?.exit, now)
                if case .over = next { (state, currentChild) = (.ending, end?.child) } else { currentChild = nil }
                return next
            }
        }

        private func nextWhileLocked(after exit: ChildProcess.Exit?, _ now: Instant) -> Next {
            // One that was asked for while the closure made no child has failed: the pause, or the rest, holds.
            if exit == nil { restartGrace = nil }
            let isRestart = restartGrace != nil
            if exit != nil { isLastEndAskedFor = isRestart || grace != nil }
            let hasSettled = exit != nil && startTime.duration(to: now) >= settlingTime
            if isRestart || hasSettled { backoff.reset() }
            if isRestart { limit.noteRestart() }
            let isTooMany = !isRestart && limit.noteEnd(at: now, hasSettled: hasSettled)
            if grace != nil { return .over(.ended) }
            if isRestart { return .pause(.zero) }
            if restarts == .onDemand { return .rest }
            if exit == .exited(0), restarts == .onFailure { return .over(.succeeded) }
            if isTooMany { return .over(.gaveUp) }
            return .pause(backoff.next())
        }

        /// Reports the end of a child, or that there is none. Begins the pause, or the rest, before the handler is
        /// called, which may end it.
        private func goOn(after end: (child: ChildProcess, exit: ChildProcess.Exit)?, _ event: (Duration?) -> Event) {
            var next = next(after: end)
            switch next {
            case .pause, .rest: if !pause(for: next.pause) { next = .over(.ended) }
            case .over: break
            }
            report(event(next.pause))
            guard case .over(let reason) = next else { return }
            if let child = end?.child { finish(reason, afterGroupOf: child) } else { finish(reason) }
        }

        /// Others in the child's group may have a grace period, and keep the child until that is over.
        private func finish(_ reason: Reason, afterGroupOf child: ChildProcess) {
            let waits = child.group.notifyOfEnd { [self] in
                // Retained until now, for `end(within:)`.
                withExtendedLifetime(child) {}
                // Not at once: that may be inside the program's own call of `end(within:)`.
                if !loop.perform(in: [mode], place, { [self] in finish(reason) }) { releaseHandler() }
            }
            if !waits { finish(reason) }
        }

        private func report(_ event: Event) { lock.withLock { handler }?(self, event) }

        private func finish(_ reason: Reason) { releaseHandler()?(self, .over(reason)) }

        /// The caller releases it without the lock.
        @discardableResult
        private func releaseHandler() -> Handler? {
            let (handler, endHandler) = lock.withLock {
                (state, currentChild) = (.over, nil)
                return (self.handler.take(), self.endHandler.take())
            }
            endHandler?.cancel()
            return handler
        }
    }
}
