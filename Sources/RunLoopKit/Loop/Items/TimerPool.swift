import Synchronization

extension Loop {
    /// Lends timers to the limiters that were made at one place, for one loop and its modes.
    ///
    /// A limiter needs a timer only while a call is pending. Until the next limiter begins a burst the timer stays in
    /// its modes, without a fire time. To lend it and take it back takes 200 instructions more than to set it; to make
    /// and invalidate one takes 1,800.
    ///
    /// There is a pool for each place, since diagnostics know a timer by its name, and remember it by its identity: all
    /// limiters of a pool have the same name.
    final class TimerPool: @unchecked Sendable {
        struct Key: Hashable {
            let limiter: Timer.AfterCall.Limiter
            let modes: Set<Mode>
            let place: Place
        }

        /// The most timers that wait: 47 kB. When more limiters than that begin bursts together, some make a new one,
        /// and a burst takes 2.5 times as long.
        static let room = 256

        let key: Key
        let loop: Loop
        let clock: LoopTime

        /// The number of limiters that have the pool. Guarded by the loop's lock.
        @exclusivity(unchecked) fileprivate var userCount = 1

        private let lock = Lock(.leaf)
        /// The timers that wait, retained. Guarded by `lock`. Not an `Array`, which takes 60 instructions more for each
        /// burst.
        @exclusivity(unchecked) private var waiting = PlainArray<Unmanaged<Timer>>()

        /// Whether the next call that waits is watched, since the loop is a main loop that may never run. Relaxed: the
        /// loop knows.
        fileprivate let watchesNext: Atomic<Bool>

        fileprivate init(_ key: Key, of loop: Loop) {
            (self.key, self.loop, clock) = (key, loop, loop.clock)
            watchesNext = Atomic(loop.isOfInitialThread)
        }

        deinit {
            for index in 0..<waiting.count { waiting[index].takeRetainedValue().invalidate() }
        }

        /// A timer that fires at `time`. The caller gives it back by `takeBack(_:)`, or invalidates it.
        @inline(__always)
        func lend(at time: Int64, handler: @escaping @Sendable (Timer.Firing) -> Void) -> Timer {
            watchesNext.load(ordering: .relaxed) ? lendWatched(at: time, handler) : lendUnwatched(at: time, handler)
        }

        @inline(never)
        private func lendWatched(at time: Int64, _ handler: @escaping @Sendable (Timer.Firing) -> Void) -> Timer {
            let timer = lendUnwatched(at: time, handler)
            watch(timer)
            return timer
        }

        private func lendUnwatched(at time: Int64, _ handler: @escaping @Sendable (Timer.Firing) -> Void) -> Timer {
            lock.lock()
            guard waiting.count > 0 else {
                lock.unlock()
                return makeTimer(at: time, handler)
            }
            let timer = waiting.removeLast().takeRetainedValue()
            lock.unlock()
            timer.begin(at: time, handler)
            return timer
        }

        @inline(never)
        private func makeTimer(at time: Int64, _ handler: @escaping @Sendable (Timer.Firing) -> Void) -> Timer {
            let timer = Timer(at: time, in: key.limiter, key.place, handler: handler)
            // A loop that is about to end refuses it: then the limiter decides at the end about what is pending. Its
            // lock is held here.
            for mode in key.modes { loop.insert(timer, in: mode, isReported: false) }
            return timer
        }

        /// Stops a timer, and releases its handler.
        func takeBack(_ timer: consuming Timer) {
            timer.end()
            lock.lock()
            guard waiting.count < TimerPool.room else {
                lock.unlock()
                return timer.invalidate()
            }
            waiting.append(.passRetained(timer))
            lock.unlock()
        }

        /// What diagnostics call the limiters.
        var limiterName: String {
            let kind = key.limiter.rawValue
            return key.place.isLabel ? "\(kind) \"\(key.place)\"" : "\(kind) (\(key.place))"
        }

        /// Called when a call of a limiter waits on the loop.
        ///
        /// - Parameter timer: Acts on the call; nil if its action was handed over to the loop.
        @inline(__always)
        func watchIfUnrun(_ timer: Timer?) {
            if watchesNext.load(ordering: .relaxed) { watch(timer) }
        }

        @inline(never)
        private func watch(_ timer: Timer?) {
            watchesNext.store(false, ordering: .relaxed)
            loop.watchCallIfUnrun(limiterName, timer: timer)
        }

        /// A limiter leaves the pool, which ends with the last one.
        func leave() {
            guard loop.isOfThisProcess else { return }
            loop.lock.withLock {
                userCount -= 1
                guard userCount == 0, loop.timerPools[key] === self else { return }
                loop.timerPools[key] = nil
                loop.timerPools.giveBack()
            }
        }
    }

    /// The pool of a limiter, which calls `leave()` at its end.
    func timerPool(for key: TimerPool.Key) -> TimerPool {
        // A forked child can use none of the loop's locks.
        guard isOfThisProcess else { return TimerPool(key, of: self) }
        return lock.withLock {
            if let pool = timerPools[key] {
                pool.userCount += 1
                return pool
            }
            let pool = TimerPool(key, of: self)
            timerPools[key] = pool
            return pool
        }
    }
}

extension Loop {
    /// Called when the limiter's call that was watched has gone, and the loop has still never run.
    func watchNextCall() {
        guard isOfThisProcess else { return }
        isWatchedAsUnrun.store(false, ordering: .relaxed)
        lock.withLock {
            for pool in timerPools.values { pool.watchesNext.store(true, ordering: .relaxed) }
        }
    }
}

extension Loop.Timer {
    /// Begins to serve a limiter. The fire time is not in the past.
    fileprivate func begin(at time: Int64, _ handler: @escaping @Sendable (Firing) -> Void) {
        change { _ in
            self.handler = handler
            fireTime = .at(min(time, TimerHeap.stopped))
        }
    }

    /// Ends that. What the handler has captured outlives this call.
    fileprivate func end() {
        change { _ in
            handler = nil
            time = TimerHeap.never
        }
    }
}
