#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// Limiters that two threads call: what is accepted is acted on once, or dropped as the documentation says.
    let limiterPrograms: [Program] =
        Limited.all.flatMap { kind in
            [
                Program("\(kind.name): calls of two threads", bound: 1) { play in
                    play.limits(kind) { limited, _ in [{ limited.call(1) }, { limited.call(2) }] }
                },
                Program("\(kind.name): calls against a flush", bound: 1) { play in
                    play.limits(kind) { limited, _ in
                        [
                            { for number in 1...2 { limited.call(number) } },
                            {
                                limited.call(3)
                                limited.flush()
                            },
                        ]
                    }
                },
                Program("\(kind.name): calls against a cancellation", bound: 1) { play in
                    play.limits(kind, loses: true) { limited, _ in
                        [{ for number in 1...2 { limited.call(number) } }, { limited.cancel() }]
                    }
                },
                Program("\(kind.name): calls against an invalidation", bound: 1) { play in
                    play.limits(kind, loses: true, isOver: true) { limited, _ in
                        [{ for number in 1...2 { limited.call(number) } }, { limited.invalidate() }]
                    }
                },
                Program("\(kind.name): the call that a run waits for is cancelled", bound: 2) { play in
                    play.endsWithTheCall(kind) { $0.cancel() }
                },
                Program("\(kind.name): the call that a run waits for is dropped", bound: 2) { play in
                    play.endsWithTheCall(kind) { $0.invalidate() }
                },
                Program("\(kind.name): calls against a handler", bound: 1) { play in
                    play.limits(kind, hasHandler: false) { limited, handler in
                        [{ for number in 1...2 { limited.call(number) } }, { limited.setHandler(handler) }]
                    }
                },
                Program("\(kind.name): calls against the loop's end", bound: 1) { play in
                    play.thread {
                        let thread = try! LoopThread(name: "scheduled")
                        let calls = Shared<[Int]>([])
                        let captured = play.capture()
                        let limited = kind.make(thread.loop, .flush) {
                            calls.value += $0
                            captured.value += 1
                        }
                        let callers = [
                            start { for number in 1...2 { limited.call(number) } }, start { limited.call(3) },
                        ]
                        thread.stop()
                        thread.join()
                        for caller in callers { System.join(caller) }
                        limited.requireAll(calls.value, play)
                        limited.invalidate()
                    }
                },
                Program("\(kind.name): calls against the release", bound: 1) { play in
                    play.thread {
                        let loop = Loop.current
                        let calls = Shared<[Int]>([])
                        let captured = play.capture()
                        let limited = Shared<Limited?>(
                            kind.make(loop, .flush) {
                                calls.value += $0
                                captured.value += 1
                            })
                        let accepted = limited.value!.accepted
                        let other = Shared(limited.value)
                        let caller = start {
                            for number in 1...2 { other.value?.call(number) }
                            other.value = nil
                        }
                        loop.run(mode: .default, for: .microseconds(10))
                        limited.value = nil
                        System.join(caller)
                        loop.run(mode: .default, for: .milliseconds(20))
                        play.require(
                            calls.value.sorted() == accepted.value.sorted(),
                            "Of \(accepted.value) these were acted on: \(calls.value).")
                    }
                },
            ]
        } + quotaPrograms

    private let quotaPrograms: [Program] = [
        Program("a quota that two threads take from") { play in
            let quota = Quota(2, per: .seconds(1000))
            let taken = Shared(0)
            for _ in 0..<2 {
                play.thread {
                    for _ in 0..<2 where quota.take().isAllowed { taken.value += 1 }
                }
            }
            play.finally { play.require(taken.value == 2, "\(taken.value) of 2 tokens were taken.") }
        },
        Program("a quota with keys that two threads take from") { play in
            let quota = KeyedQuota<Int>(2, per: .seconds(1000))
            let taken = Shared(0)
            for _ in 0..<2 {
                play.thread {
                    for _ in 0..<2 where quota.take(for: 1).isAllowed { taken.value += 1 }
                    _ = quota.take(for: 2)
                }
            }
            play.finally { play.require(taken.value == 2, "\(taken.value) of 2 tokens were taken.") }
        },
    ]

    /// A limiter, and which of its calls it has accepted.
    private final class Limited: @unchecked Sendable {
        typealias Handler = @Sendable ([Int]) -> Void

        struct Kind: Sendable {
            let name: String
            let make: @Sendable (Loop, RateLimitRelease, Handler?) -> Limited
        }

        static let all: [Kind] = [
            Kind(name: "a throttle") { loop, release, handler in
                let limiter = Throttle<Int>.collecting(
                    interval: .milliseconds(1), on: loop, whenReleased: release, action: handler)
                return Limited(
                    { limiter($0) }, { _ = limiter.flush() }, { limiter.cancel() }, { limiter.invalidate() },
                    { _ = limiter.setHandler(collecting: $0) })
            },
            Kind(name: "a throttle with keys") { loop, release, handler in
                var keyed: (@Sendable (Int, [Int]) -> Void)?
                if let handler { keyed = { _, inputs in handler(inputs) } }
                let limiter = KeyedThrottle<Int, Int>.collecting(
                    interval: .milliseconds(1), on: loop, whenReleased: release,
                    action: keyed)
                return Limited(
                    { (input: Int) -> Bool in limiter(input, for: input / 3) }, { _ = limiter.flushAll() },
                    { limiter.cancelAll() },
                    { limiter.invalidate() },
                    { handler in
                        let keyed: @Sendable (Int, [Int]) -> Void = { _, inputs in handler(inputs) }
                        _ = limiter.setHandler(collecting: keyed)
                    })
            },
            Kind(name: "a paced queue") { loop, release, handler in
                let queue = PacedQueue<Int>(
                    1, per: .milliseconds(1), capacity: 4, on: loop, whenReleased: release)
                if let handler { queue.setHandler { (input: Int) in handler([input]) } }
                return Limited(
                    { (input: Int) -> Bool in queue(input) == .accepted }, { _ = queue.flush() }, { queue.cancel() },
                    { queue.invalidate() }, { handler in _ = queue.setHandler { (input: Int) in handler([input]) } })
            },
        ]

        let accepted = Shared<[Int]>([])
        private let body: (Int) -> Bool
        let flush: () -> Void
        let cancel: () -> Void
        let invalidate: () -> Void
        let setHandler: (@escaping Handler) -> Void

        init(
            _ call: @escaping (Int) -> Bool, _ flush: @escaping () -> Void, _ cancel: @escaping () -> Void,
            _ invalidate: @escaping () -> Void, _ setHandler: @escaping (@escaping Handler) -> Void
        ) {
            (body, self.flush, self.cancel, self.invalidate) = (call, flush, cancel, invalidate)
            self.setHandler = setHandler
        }

        @discardableResult
        func call(_ input: Int) -> Bool {
            let isAccepted = body(input)
            if isAccepted { accepted.value.append(input) }
            return isAccepted
        }

        func requireAll(_ calls: [Int], _ play: Play) {
            play.require(
                calls.sorted() == accepted.value.sorted(), "Of \(accepted.value) these were acted on: \(calls).")
        }
    }

    extension Play {
        /// Two threads use a limiter. What it accepts is acted on, unless something has dropped it.
        fileprivate func limits(
            _ kind: Limited.Kind, loses: Bool = false, isOver: Bool = false, hasHandler: Bool = true,
            _ callers: @escaping @Sendable (Limited, @escaping Limited.Handler) -> [@Sendable () -> Void]
        ) {
            thread { [self] in
                let loop = Loop.current
                let calls = Shared<[Int]>([])
                let captured = capture()
                let handler: Limited.Handler = {
                    calls.value += $0
                    captured.value += 1
                }
                let limited = kind.make(loop, .discard, hasHandler ? handler : nil)
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let threads = callers(limited, handler).map { start($0) }
                loop.run(mode: .default, for: .milliseconds(20))
                for thread in threads { System.join(thread) }
                loop.run(mode: .default, for: .milliseconds(20))
                if loses {
                    let unique = Set(calls.value)
                    require(unique.count == calls.value.count, "\(calls.value) were acted on.")
                    require(unique.isSubset(of: limited.accepted.value), "\(calls.value) were acted on.")
                } else {
                    limited.requireAll(calls.value, self)
                }
                let before = calls.value.count
                require(limited.call(9) != isOver, isOver ? "It accepts calls." : "It refuses calls.")
                loop.run(mode: .default, for: .milliseconds(20))
                require(calls.value.count == before + (isOver ? 0 : 1), "\(calls.value) were acted on.")
                limited.invalidate()
                port.invalidate()
            }
        }

        /// A run that waits for nothing but a pending call ends when another thread drops the call.
        fileprivate func endsWithTheCall(_ kind: Limited.Kind, _ drop: @escaping @Sendable (Limited) -> Void) {
            thread { [self] in
                let loop = Loop.current
                let limited = kind.make(loop, .discard) { _ in }
                for number in 1...2 { limited.call(number) }
                let end = Shared<Loop.Instant?>(nil)
                let caller = start {
                    drop(limited)
                    end.value = loop.now
                }
                let result = loop.run(mode: .default, for: .seconds(1000))
                let now = loop.now
                System.join(caller)
                let time = end.value!.duration(to: now)
                require(
                    result == .finished && time < .microseconds(200), "The run returned \(result), after \(time).")
                limited.invalidate()
            }
        }
    }
#endif
