#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Timers that other threads change while they fire.
    let timerPrograms: [Program] = [
        Program("a timer is restarted against its firing") { play in
            play.changes { timer, loop in timer.restart(after: .milliseconds(2)) }
        },
        Program("a timer's time is set against its firing") { play in
            play.changes { timer, loop in timer.nextFireTime = loop.now + .milliseconds(2) }
        },
        Program("a timer's time is taken away and set against its firing") { play in
            play.changes { timer, loop in
                timer.nextFireTime = nil
                timer.nextFireTime = loop.now + .milliseconds(2)
            }
        },
        Program("the timer that a run waits for is stopped", bound: 2) { play in
            play.thread {
                let loop = Loop.current
                let timer = Loop.Timer(restartableAfter: .seconds(1000)) { _ in }
                loop.add(timer, in: .default)
                timer.restart()
                let end = Shared<Loop.Instant?>(nil)
                let other = start {
                    timer.nextFireTime = nil
                    end.value = loop.now
                }
                let result = loop.run(mode: .default, for: .seconds(2000))
                let now = loop.now
                System.join(other)
                let time = end.value!.duration(to: now)
                play.require(
                    result == .finished && time < .microseconds(200), "The run returned \(result), after \(time).")
                timer.invalidate()
            }
        },
        // Beside an item of the background, which no longer keeps it going.
        Program("a run until nothing is left, against what another thread leaves it", bound: 2) { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                let timer = Loop.Timer(restartableAfter: .seconds(1000)) { _ in }
                for item in [port, timer] { loop.add(item) }
                timer.restart()
                let end = Shared<Loop.Instant?>(nil)
                let changes: [@Sendable () -> Void] = [{ port.keepsRunsGoing = false }, { timer.nextFireTime = nil }]
                let threads = changes.map { change in
                    start {
                        change()
                        end.value = loop.now
                    }
                }
                let result = loop.runUntilFinished()
                let now = loop.now
                for thread in threads { System.join(thread) }
                let time = end.value!.duration(to: now)
                play.require(
                    result == .finished && time < .microseconds(200), "The run returned \(result), after \(time).")
                for item in [port, timer] { item.invalidate() }
            }
        },
        Program("a timer moves to another mode and back against its firing") { play in
            play.changes { timer, loop in
                loop.add(timer, in: "other")
                loop.remove(timer, in: .default)
                timer.restart(after: .milliseconds(2))
                loop.add(timer, in: .default)
                loop.wakeUp()
            }
        },
        Program("a timer's settings change against its firing") { play in
            play.changes { timer, loop in
                timer.tolerance = .milliseconds(1)
                timer.isPrecise = true
                timer.isPrecise = false
                timer.restart(after: .milliseconds(2))
            }
        },
        Program("a wall clock is set back against the return of a timer's handler") { play in
            play.thread {
                let clock = VirtualClock()
                let loop = Loop(clock: clock)
                clock.setWallClock(to: Loop.Instant(nanoseconds: 3_600_000_000_000))
                let epoch = Loop.Instant(nanoseconds: 0)
                let timer = Loop.Timer(at: epoch, repeating: .seconds(1), timeBase: .wallClock) { _ in }
                loop.add(timer, in: .default)
                let other = start { clock.setWallClock(to: Loop.Instant(nanoseconds: 10_000_000_000)) }
                loop.run(mode: .default, for: .zero)
                System.join(other)
                let next = timer.nextFireTime!
                play.require(next.nanoseconds <= 11_000_000_000, "The timer waits until \(next).")
                loop.end()
            }
        },
        Program("a timer is restarted by two threads") { play in
            play.changes { timer, loop in
                let other = start { timer.restart(after: .milliseconds(3)) }
                timer.restart(after: .milliseconds(2))
                System.join(other)
            }
        },
        Program("a timer is invalidated on its loop's thread") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let isOver = Shared(false)
                let timer = Loop.Timer(restartableAfter: .microseconds(20)) { _ in
                    captured.value += 1
                    play.require(!isOver.value, "It fires after its end.")
                }
                loop.add(timer, in: .default)
                let threads = [
                    start { timer.restart(after: .microseconds(10)) }, start { loop.add(timer, in: "other") },
                ]
                loop.perform {
                    timer.invalidate()
                    isOver.value = true
                }
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                loop.run(mode: .default, for: .milliseconds(1))
                for thread in threads { System.join(thread) }
                loop.run(mode: .default, for: .milliseconds(1))
                loop.run(mode: "other", for: .milliseconds(1))
                port.invalidate()
            }
        },
        Program("a timer that fires once moves to another mode") { play in
            play.firesOnce { timer, loop, other in
                loop.remove(timer, in: .default)
                loop.add(timer, in: "other")
            }
        },
        Program("a timer that fires once gets a second mode") { play in
            play.firesOnce { timer, loop, other in
                loop.add(timer, in: "other")
                loop.remove(timer, in: .default)
            }
        },
        Program("a timer that fires once moves to another loop") { play in
            play.firesOnce { timer, loop, other in
                loop.remove(timer, in: .default)
                other.add(timer, in: .default)
            }
        },
        Program("a timer that fires once is in two loops") { play in
            play.firesOnce { timer, loop, other in
                other.add(timer, in: .default)
            }
        },
        Program("a timer in two loops is restarted") { play in
            play.thread {
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = play.capture()
                let inHandler = Shared(false)
                let timer = Loop.Timer(restartableAfter: .microseconds(20)) { _ in
                    play.require(!inHandler.value, "It fires in two loops at once.")
                    inHandler.value = true
                    captured.value += 1
                    letOthersSleep()
                    inHandler.value = false
                }
                loop.add(timer, in: .default)
                other.loop.add(timer, in: .default)
                let restarter = start { timer.restart(after: .microseconds(10)) }
                loop.run(mode: .default, for: .milliseconds(20))
                System.join(restarter)
                loop.run(mode: .default, for: .milliseconds(20))
                play.require((1...2).contains(captured.value), "It fires \(captured.value) times.")
                timer.invalidate()
                other.stop()
                other.join()
            }
        },
        Program("a timer gets a handler when it is due") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let timer = Loop.Timer(after: .microseconds(10))
                let setter = start {
                    timer.setHandler { _ in
                        captured.value += 1
                        loop.stop()
                    }
                }
                loop.add(timer, in: .default)
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(setter)
                play.require(captured.value == 1, "It fires \(captured.value) times: \(result).")
            }
        },
        Program("a repeating timer is invalidated by another thread") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let timer = Loop.Timer(every: .microseconds(100)) { _ in captured.value += 1 }
                loop.add(timer, in: .default)
                let other = start {
                    timer.nextFireTime = loop.now + .microseconds(50)
                    timer.invalidate()
                    loop.wakeUp()
                }
                let result = loop.run(mode: .default, for: .seconds(1))
                System.join(other)
                let count = captured.value
                play.require(result == .finished, "The run returned \(result).")
                loop.run(mode: .default, for: .milliseconds(1))
                play.require(captured.value == count, "It fires after its end.")
            }
        },
        // The first has to post the drain. Until then the second one's job waits, though it has returned.
        Program("two tasks for a sleeping loop") { play in
            play.loop(
                senders: .init(
                    repeating: { loop, work in
                        let executor = loop.taskExecutor
                        Task(executorPreference: executor) { work.serve(1) }
                    }, count: 2))
        },
        Program("a task and a post for a sleeping loop") { play in
            play.loop(senders: [
                { loop, work in
                    let executor = loop.taskExecutor
                    Task(executorPreference: executor) { work.serve(1) }
                }, { loop, work in work.post(to: loop) },
            ])
        },
        Program("a timer is retired against its insertion") { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let timer = Loop.Timer(after: .seconds(500)) { _ in }
                let threads = [
                    start {
                        loop.insert(timer, in: .default)
                        loop.retract(port, in: .default)
                    }, start { timer.retire() },
                ]
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                let time = begin.duration(to: loop.now)
                for thread in threads { System.join(thread) }
                play.require(result == .finished && time < .seconds(1), "The run returned \(result) after \(time).")
                port.invalidate()
            }
        },
        Program("a limiter whose timer is the last item is invalidated") { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let debounce = Debounce<Int>(interval: .seconds(500), on: loop) { _ in }
                debounce(1)
                let threads = [start { loop.retract(port, in: .default) }, start { debounce.invalidate() }]
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                let time = begin.duration(to: loop.now)
                for thread in threads { System.join(thread) }
                play.require(result == .finished && time < .seconds(1), "The run returned \(result) after \(time).")
                port.invalidate()
            }
        },
        Program("a hosted loop gets work") { play in
            play.hosts { loop, work in work.post(to: loop) }
        },
        Program("a hosted loop gets a timer") { play in
            play.hosts { loop, work in
                loop.add(Loop.Timer(after: .milliseconds(1)) { _ in work.serve(1) }, in: .default)
            }
        },
        Program("a hosted loop gets a message") { play in
            let port = Loop.MessagePort<Work> { $0.serve(1) }
            play.hosts { loop, work in
                loop.add(port, in: .default)
                work.send { port.send(work) }
            }
        },
        Program("a run of a hosted loop against the removal of the last item") { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                _ = try! loop.hosting.begin()
                loop.hosting.pass()
                let remover = start { loop.retract(port, in: .default) }
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                let time = begin.duration(to: loop.now)
                System.join(remover)
                play.require(result == .finished && time < .seconds(1), "The run returned \(result) after \(time).")
                loop.hosting.end()
                port.invalidate()
            }
        },
        Program("a host that says when it sleeps gets work", bound: 2) { play in
            play.hosts(saysWhenItSleeps: true) { loop, work in work.post(to: loop) }
        },
        Program("a host that says when it sleeps gets a timer", bound: 2) { play in
            play.hosts(saysWhenItSleeps: true) { loop, work in
                loop.add(Loop.Timer(after: .milliseconds(1)) { _ in work.serve(1) }, in: .default)
            }
        },
        Program("a host that says when it sleeps gets a message", bound: 2) { play in
            let port = Loop.MessagePort<Work> { $0.serve(1) }
            play.hosts(saysWhenItSleeps: true) { loop, work in
                loop.add(port, in: .default)
                work.send { port.send(work) }
            }
        },
        Program("a loop's end handlers against its end", bound: 2) { play in
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let loop = thread.loop
                let captured = play.capture()
                let accepted = Shared(0)
                let other = start {
                    if loop.onEnd({ captured.value += 1 }) != nil { accepted.value += 1 }
                    if let handler = loop.onEnd({ captured.value += 10 }) { handler.cancel() }
                }
                thread.stop()
                thread.join()
                System.join(other)
                play.require(
                    captured.value % 10 == accepted.value, "\(captured.value) called, \(accepted.value) accepted.")
                play.require(captured.value <= 11, "\(captured.value) called.")
            }
        },
    ]

    extension Play {
        /// After the last change a restartable timer fires once more, at its new time.
        fileprivate func changes(_ change: @escaping @Sendable (Loop.Timer, Loop) -> Void) {
            thread { [self] in
                let loop = Loop.current
                let captured = capture()
                let last = Shared<Int64>(0)
                let timer = Loop.Timer(restartableAfter: .microseconds(50)) { _ in
                    captured.value += 1
                    last.value = System.monotonicNanoseconds()
                }
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                loop.add(timer, in: .default)
                let begin = Shared<Int64>(0)
                let other = start {
                    begin.value = System.monotonicNanoseconds()
                    change(timer, loop)
                }
                loop.run(mode: .default, for: .milliseconds(50))
                System.join(other)
                require(
                    last.value >= begin.value + 2_000_000 && last.value < begin.value + 20_000_000,
                    "It fired \(captured.value) times, last \(last.value - begin.value) ns after the change.")
                require(captured.value <= 2, "It fired \(captured.value) times.")
                timer.invalidate()
                port.invalidate()
            }
        }

        /// A timer fires once in all, wherever it is then.
        fileprivate func firesOnce(_ move: @escaping @Sendable (Loop.Timer, Loop, Loop) -> Void) {
            thread { [self] in
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = capture()
                let timer = Loop.Timer(after: .microseconds(50)) { _ in captured.value += 1 }
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                loop.add(timer, in: .default)
                let mover = start { move(timer, loop, other.loop) }
                loop.run(mode: .default, for: .milliseconds(10))
                System.join(mover)
                loop.run(mode: "other", for: .milliseconds(10))
                letOthersSleep()
                letOthersSleep()
                require(captured.value == 1, "It fired \(captured.value) times.")
                require(!timer.isValid, "It is valid after its call.")
                port.invalidate()
                other.stop()
                other.join()
            }
        }

        /// A host sleeps at the loop's descriptor until a piece of work is served.
        fileprivate func hosts(
            saysWhenItSleeps: Bool = false, _ sender: @escaping @Sendable (Loop, Work) -> Void
        ) {
            keepsDescriptors()
            let shared = Shared<Work?>(nil)
            whileSleeping { shared.value?.complaint }
            thread { [self] in
                let loop = Loop.current
                let work = Work(loop, pieces: 1)
                shared.value = work
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let descriptor = try! loop.hosting.begin()
                start { sender(loop, work) }
                let begin = System.monotonicNanoseconds()
                while work.end != nil, System.monotonicNanoseconds() - begin < 10_000_000_000 {
                    let maySleep = saysWhenItSleeps ? loop.hosting.willSleep() : true
                    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    RunLoopKit.poll(&request, 1, maySleep ? 1_000_000 : 0)
                    if saysWhenItSleeps { loop.hosting.didWake() }
                    if !maySleep || request.revents != 0 { loop.hosting.pass() }
                }
                if let complaint = work.end { require(false, complaint) }
                loop.hosting.end()
                port.invalidate()
                shared.value = nil
            }
        }
    }
#endif
