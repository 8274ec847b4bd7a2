#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// What threads do to a loop of a higher priority. The first four take no lock.
    let habits: [Habit] = [
        Habit("PortSource.send") { loop in
            let port = try! Loop.PortSource { _ in }
            loop.add(port, in: .default)
            return { port.send() }
        },
        Habit("PortSource.send, and the loop invalidates the port") { loop in
            let port = try! Loop.PortSource { _ in }
            loop.add(port, in: .default)
            loop.add(Loop.Observer(.afterWaiting) { _, _ in port.invalidate() }, in: .default)
            return { port.send() }
        },
        Habit("Loop.wakeUp") { loop in { loop.wakeUp() } },
        Habit("Loop.stop") { loop in { loop.stop() } },
        Habit("Loop.perform", keepsAt: 4) { loop in { loop.perform {} } },
        Habit("Source0.signal", keepsAt: 3) { loop in
            let source = Loop.Source0 {}
            loop.add(source, in: .default)
            return { source.signal() }
        },
        Habit("MessagePort.send", keepsAt: 3) { loop in
            let port = Loop.MessagePort<Int> { _ in }
            loop.add(port, in: .default)
            return { port.send(1) }
        },
        Habit("Loop.add of a timer", keepsAt: 20) { loop in
            let timer = Loop.Timer(after: .seconds(100)) { _ in }
            return { loop.add(timer, in: .default) }
        },
        Habit("Timer.nextFireTime", keepsAt: 16) { loop in
            let timer = Loop.Timer(after: .seconds(100)) { _ in }
            loop.add(timer, in: .default)
            return { timer.nextFireTime = timer.nextFireTime?.advanced(by: .seconds(-10)) }
        },
        Habit("Timer.restart", keepsAt: 12) { loop in
            let timer = Loop.Timer(restartableAfter: .seconds(100)) { _ in }
            loop.add(timer, in: .default)
            return { _ = timer.restart() }
        },
        Habit("Item.invalidate of a timer", keepsAt: 6) { loop in
            let timer = Loop.Timer(after: .seconds(100)) { _ in }
            loop.add(timer, in: .default)
            return { timer.invalidate() }
        },
        Habit("a call of a throttle", keepsAt: 21) { loop in
            let throttle = Throttle<Int>(interval: .seconds(1), on: loop, whenReleased: .flush) { _ in }
            return { _ = throttle(1) }
        },
    ]
#endif
