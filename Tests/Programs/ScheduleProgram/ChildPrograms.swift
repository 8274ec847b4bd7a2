#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Children, whose end is asked for by other threads.
    ///
    /// Other processes go on when they like. So a child here has ended before its program begins, or ends while the
    /// thread that sent a signal waits for that.
    let childPrograms: [Program] = [
        Program("a grace period against the child's end", bound: 2) { play in
            play.thread {
                let child = Child.withAnother()
                let loop = Loop.current
                loop.add(child, in: .default)
                let isCounting = Shared(false)
                let begin = loop.now
                let caller = start { isCounting.value = child.end(within: .seconds(1000)) }
                while child.isValid { loop.run(mode: .default, for: .seconds(2000)) }
                System.join(caller)
                // The exit is reported after the period, or the end was asked for while it was reported.
                let wasInTime = begin.duration(to: loop.now) >= .seconds(1000)
                let isInLoop = loop.run(mode: .default, for: .zero) != .finished
                play.require(
                    (wasInTime || isInLoop) == isCounting.value,
                    "end said \(isCounting.value); the period was over: \(wasInTime), is counted: \(isInLoop).")
                kill(-child.process, SIGKILL)
            }
        },
        Program("two grace periods", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                Loop.current.add(child, in: .default)
                play.endsInTime(child, by: [100, 10])
            }
        },
        Program("two shorter grace periods", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                Loop.current.add(child, in: .default)
                child.end(within: .seconds(1000))
                play.endsInTime(child, by: [100, 10])
            }
        },
        Program("two grace periods of a child in no loop", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                let callers = [100, 10].map { period in start { child.end(within: .seconds(period)) } }
                for caller in callers { System.join(caller) }
                Loop.current.add(child, in: .default)
                play.endsInTime(child, by: [])
            }
        },
        Program("a grace period against a move to another mode", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                let loop = Loop.current
                loop.add(child, in: .default)
                let caller = start { child.end(within: .seconds(10)) }
                loop.remove(child, in: .default)
                loop.add(child, in: "other")
                System.join(caller)
                let result = loop.run(mode: .default, for: .zero)
                play.require(result == .finished, "A timer is left in the child's old mode.")
                play.endsInTime(child, in: "other", by: [])
            }
        },
        Program("a grace period against a removal", bound: 2) { play in
            let group = Shared<ChildGroup?>(nil)
            play.isOver(group)
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                group.value = child.group
                let loop = Loop.current
                loop.add(child, in: .default)
                let caller = start { child.end(within: .seconds(10)) }
                loop.remove(child, in: .default)
                System.join(caller)
                let result = loop.run(mode: .default, for: .zero)
                play.require(result == .finished, "A timer is left in the child's old mode.")
            }
        },
        Program("a grace period against an insertion", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                let caller = start { child.end(within: .seconds(10)) }
                Loop.current.add(child, in: .default)
                System.join(caller)
                play.endsInTime(child, by: [])
            }
        },
        Program("a grace period against an invalidation", bound: 2) { play in
            let group = Shared<ChildGroup?>(nil)
            play.isOver(group)
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                group.value = child.group
                Loop.current.add(child, in: .default)
                let caller = start { child.end(within: .seconds(10)) }
                child.invalidate()
                System.join(caller)
                Loop.current.run(mode: .default, for: .seconds(100))
            }
        },
        Program("a grace period against the loop's end", bound: 2) { play in
            let group = Shared<ChildGroup?>(nil)
            play.finally {
                play.require(group.value?.isCounting != true, "A grace period is counted by no loop.")
                group.value = nil
            }
            play.keepsDescriptors()
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let child = Child.withAnother(endsAtOnce: false)
                group.value = child.group
                play.afterKill { [process = child.process] in Child.awaitEnd(of: process) }
                thread.loop.add(child, in: .default)
                let caller = start { child.end(within: .seconds(10)) }
                thread.stop()
                thread.join()
                System.join(caller)
                child.invalidate()
                _ = clinux_kill(-child.process, SIGKILL)
            }
        },
        Program("a time limit against an end", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                Loop.current.add(child, in: .default)
                let callers = [
                    start { child.end(after: .seconds(1), within: .seconds(20)) },
                    start { child.end(within: .seconds(10)) },
                ]
                for caller in callers { System.join(caller) }
                play.endsInTime(child, by: [])
            }
        },
        Program("two time limits", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother(endsAtOnce: false)
                let loop = Loop.current
                play.afterKill { [process = child.process] in Child.awaitEnd(of: process) }
                loop.add(child, in: .default)
                let callers = [5, 10].map { limit in
                    start { child.end(after: .seconds(limit), within: .seconds(10)) }
                }
                for caller in callers { System.join(caller) }
                // The one of the last call counts, and the child ends with SIGTERM.
                let begin = loop.now
                loop.run(mode: .default, for: .seconds(1000))
                let time = begin.duration(to: loop.now)
                play.require(!child.isValid && child.isOverTimeLimit, "The child is not ended by its limit.")
                play.require(time < .seconds(11), "The loop runs for \(time).")
            }
        },
        Program("a handler is set against the report of a child's end", bound: 2) { play in
            play.thread {
                let child = Child.ended()
                play.reports(child) { handler in child.setHandler { _, _ in handler() } }
            }
        },
        Program("a handler is set against the report of a process's end", bound: 2) { play in
            play.thread {
                let child = Child.ended()
                let source = try! Loop.ProcessSource(child.process, reaping: false)
                play.reports(source) { handler in source.setHandler { _, _ in handler() } }
                child.invalidate()
            }
        },
        Program("a child is ended by two threads", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother(endsAtOnce: false)
                play.afterKill { [process = child.process] in Child.awaitEnd(of: process) }
                Loop.current.add(child, in: .default)
                play.endsInTime(child, by: [100, 10])
            }
        },
        Program("the others in a group are ended against an end", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let child = Child.withAnother()
                child.endOthers(within: .seconds(100))
                Loop.current.add(child, in: .default)
                play.endsInTime(child, by: [10])
            }
        },
        Program("a supervised child is restarted and ended by two threads", bound: 2) { play in
            play.supervise { supervised, _ in
                start { supervised.restart(within: .seconds(5)) }
                start { supervised.end(within: .seconds(5)) }
            }
        },
        Program("a supervised child is ended by two threads", bound: 2) { play in
            play.supervise { supervised, _ in
                for period in [5, 10] { start { supervised.end(within: .seconds(period)) } }
            }
        },
        Program("a supervised child is started by two threads", bound: 2) { play in
            play.supervise(startsIt: false) { supervised, handler in
                let starts = Shared(0)
                let callers = (0..<2).map { _ in
                    start { if supervised.start(handler) { starts.value += 1 } }
                }
                start { supervised.end(within: .seconds(10)) }
                for caller in callers { System.join(caller) }
                play.require(starts.value <= 1, "It was started \(starts.value) times.")
            }
        },
        Program("a supervised child that leaves another is ended", bound: 2) { play in
            play.supervise(leavesAnother: true) { supervised, _ in
                for period in [5, 10] { start { supervised.end(within: .seconds(period)) } }
            }
        },
        Program("a supervised child is ended against its loop's end", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let overs = play.capture()
                let supervised = Loop.SupervisedChild(on: thread.loop, restarts: .always) { Child.ended() }
                let callers = [
                    start {
                        supervised.start { _, event in
                            play.require(overs.value == 0, "\(event) comes after the end.")
                            if case .over = event { overs.value += 1 }
                        }
                    }, start { supervised.end(within: .seconds(10)) },
                ]
                thread.stop()
                thread.join()
                for caller in callers { System.join(caller) }
            }
        },
    ]

    enum Child {
        /// Its sleeper holds none of this process's streams.
        private static let script = "trap '' TERM; sleep 100 >/dev/null 2>&1 & exit"

        /// A child that leaves another in its group, which ignores SIGTERM and ends after a while.
        static func withAnother(endsAtOnce: Bool = true) -> Loop.ChildProcess {
            if !endsAtOnce { return try! Loop.ChildProcess("sleep", ["100"]) { _, _ in } }
            let child = try! Loop.ChildProcess("sh", ["-c", script]) { _, _ in }
            awaitEnd(of: child.process)
            return child
        }

        static func ended() -> Loop.ChildProcess {
            let child = try! Loop.ChildProcess("true")
            awaitEnd(of: child.process)
            return child
        }

        static func endedWithAnother() -> Loop.ChildProcess {
            let child = try! Loop.ChildProcess("sh", ["-c", script])
            awaitEnd(of: child.process)
            return child
        }

        static func awaitEnd(of process: Int32) {
            var exit = siginfo_t()
            waitid(P_PID, id_t(process), &exit, WEXITED | WNOWAIT)
        }
    }

    extension Play {
        /// The loop has nothing left to do when the shortest period is over.
        fileprivate func endsInTime(_ child: Loop.ChildProcess, in mode: Loop.Mode = .default, by periods: [Int]) {
            let loop = Loop.current
            let begin = loop.now
            let accepted = Shared(0)
            let callers = periods.map { period in
                start { if child.end(within: .seconds(period)) { accepted.value += 1 } }
            }
            let result = loop.run(mode: mode, for: .seconds(2000))
            for caller in callers { System.join(caller) }
            let time = begin.duration(to: loop.now)
            let last = loop.run(mode: mode, for: .seconds(2000))
            let all = begin.duration(to: loop.now)
            require(!child.isValid, "The child's end is not reported.")
            require(last == .finished, "The run returned \(result), then \(last).")
            require(time < .seconds(12) && all < .seconds(12), "A grace period lasts for \(time), \(all).")
            require(!child.group.isCounting, "A grace period is counted by no loop.")
            kill(-child.process, SIGKILL)
        }

        /// A source reports an end once: to the last handler that it has taken.
        func reports(_ source: Loop.Item, setHandler: @escaping (@escaping @Sendable () -> Void) -> Bool) {
            let calls = Shared<[Int]>([])
            let captured = capture()
            @Sendable func handler(_ number: Int) -> @Sendable () -> Void {
                {
                    captured.value += 1
                    calls.value.append(number)
                }
            }
            let loop = Loop.current
            require(setHandler(handler(0)), "It takes no handler.")
            loop.add(source, in: .default)
            let isSet = Shared(false)
            let set = Shared(setHandler)
            let setter = start { isSet.value = set.value(handler(1)) }
            loop.run(mode: .default, for: .milliseconds(1))
            System.join(setter)
            set.value = { _ in false }
            require(
                calls.value == [isSet.value ? 1 : 0],
                "setHandler said \(isSet.value), and these handlers were called: \(calls.value).")
        }

        /// No grace period is counted in the end, and the child is reaped.
        fileprivate func isOver(_ group: Shared<ChildGroup?>) {
            finally { [self] in
                guard let group = group.value else { return }
                require(!group.isCounting, "A grace period is counted by no loop.")
                kill(-group.process, SIGKILL)
                var exit = siginfo_t()
                let isReaped = waitid(P_PID, id_t(group.process), &exit, WEXITED | WNOWAIT | WNOHANG) != 0
                require(isReaped, "The child is left as a zombie.")
            }
            finally { group.value = nil }
        }

        /// A supervised child, whose processes end at once: each is reported once, and the end once.
        fileprivate func supervise(
            startsIt: Bool = true, leavesAnother: Bool = false,
            _ act: @escaping @Sendable (Loop.SupervisedChild, @escaping Loop.SupervisedChild.Handler) -> Void
        ) {
            keepsDescriptors()
            let (started, ended, overs) = (Shared(0), Shared(0), Shared(0))
            thread { [self] in
                let captured = capture()
                let supervised = Loop.SupervisedChild(
                    backoff: Loop.Backoff(from: .seconds(1), to: .seconds(2)), restarts: .always, quickEndLimit: 2
                ) { leavesAnother ? Child.endedWithAnother() : Child.ended() }
                let handler: Loop.SupervisedChild.Handler = { [self] _, event in
                    captured.value += 1
                    require(overs.value == 0, "\(event) comes after the end.")
                    switch event {
                    case .started: started.value += 1
                    case .ended: ended.value += 1
                    case .over: overs.value += 1
                    case .notStarted: break
                    }
                }
                if startsIt { supervised.start(handler) }
                act(supervised, handler)
                while Loop.current.run(mode: .default, for: .seconds(1000)) != .finished {}
                for _ in 0..<3 { letOthersSleep() }
                while Loop.current.run(mode: .default, for: .seconds(1000)) != .finished {}
            }
            finally { [self] in
                require(overs.value == 1 || !startsIt && started.value == 0, "It was over \(overs.value) times.")
                require(started.value == ended.value, "\(started.value) started, \(ended.value) ended.")
            }
        }
    }
#endif
