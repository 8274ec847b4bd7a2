import RunLoopKit

extension Operation {
    static let timers = [
        Operation("timer-add-invalidate") { loop in
            { count in
                for _ in 0..<count {
                    let timer = Loop.Timer(after: .anHour) { _ in }
                    loop.add(timer)
                    timer.invalidate()
                }
            }
        },
        Operation("timer-add-invalidate-common") { loop in
            { count in
                for _ in 0..<count {
                    let timer = Loop.Timer(after: .anHour) { _ in }
                    loop.add(timer, in: .common)
                    timer.invalidate()
                }
            }
        },
        Operation("timer-retime") { loop in
            let timer = Loop.Timer(after: .anHour) { _ in }
            loop.add(timer)
            let times = [1, 2].map { loop.now.advanced(by: .anHour * $0) }
            return { count in for number in 0..<count { timer.nextFireTime = times[number & 1] } }
        },
        // It is always due, so that the loop never sleeps.
        Operation("timer-fire") { loop in
            let firings = Countdown()
            loop.add(Loop.Timer(every: .nanoseconds(1)) { _ in if !firings.next() { loop.stop() } })
            return { count in
                firings.start(count)
                loop.run(for: .anHour)
            }
        },
        // The loop arms its timer descriptor, sleeps, wakes and fires. Few times, because it takes real time.
        Operation("timer-sleep-fire", count: 100) { loop in
            let firings = Countdown()
            let timer = Loop.Timer(every: .anHour) { firing in
                if firings.next() { firing.timer.nextFireTime = soon(loop) } else { loop.stop() }
            }
            loop.add(timer)
            return { count in
                firings.start(count)
                timer.nextFireTime = soon(loop)
                loop.run(for: .anHour)
            }
        },
    ]

    /// Far enough for the loop to go to sleep first, however slowly the instructions are counted.
    private static func soon(_ loop: Loop) -> Loop.Instant { loop.now.advanced(by: .milliseconds(10)) }
}
