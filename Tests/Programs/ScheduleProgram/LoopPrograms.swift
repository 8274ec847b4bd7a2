#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// A loop that sleeps without a limit, and threads that bring it work.
    ///
    /// Thread 0 runs the loop. Wherever it sleeps, no sender that has returned may have work there.
    let loopPrograms: [Program] = [
        Program("post to a sleeping loop", bound: 3) { play in
            play.loop(senders: [{ loop, work in work.post(to: loop) }])
        },
        Program("two posts") { play in
            play.loop(senders: .init(repeating: { loop, work in work.post(to: loop) }, count: 2))
        },
        Program("two posts by one, one by another") { play in
            play.loop(
                pieces: 3,
                senders: [
                    { loop, work in
                        work.post(to: loop)
                        work.post(to: loop)
                    }, { loop, work in work.post(to: loop) },
                ])
        },
        Program("a signal and a removal") { play in
            let performed = Shared(0)
            let source = Shared<Loop.Source0?>(nil)
            play.loop(
                prepare: { loop, _ in
                    source.value = Loop.Source0 { performed.value += 1 }
                    loop.add(source.value!, in: .default)
                },
                senders: [
                    { loop, work in
                        source.value?.signal()
                        work.post(to: loop)
                    },
                    { loop, work in
                        source.value?.invalidate()
                        work.post(to: loop)
                    },
                ])
            play.finally { play.require(performed.value <= 1, "The source was performed \(performed.value) times.") }
        },
        Program("two signals") { play in
            let source = Shared<Loop.Source0?>(nil)
            play.loop(
                prepare: { loop, work in
                    source.value = Loop.Source0 { work.servesAll() }
                    loop.add(source.value!, in: .default)
                }, senders: .init(repeating: { _, work in work.send { source.value?.signal() } }, count: 2))
        },
        Program("two sends to a port") { play in
            let port = Shared<Loop.PortSource?>(nil)
            play.loop(
                prepare: { loop, work in
                    port.value = try! Loop.PortSource { count in work.serve(count) }
                    loop.add(port.value!, in: .default)
                }, senders: .init(repeating: { _, work in work.send { port.value?.send() } }, count: 2))
        },
        Program("two messages") { play in
            let port = Shared<Loop.MessagePort<Int>?>(nil)
            play.loop(
                prepare: { loop, work in
                    port.value = Loop.MessagePort { _ in work.serve(1) }
                    loop.add(port.value!, in: .default)
                }, senders: .init(repeating: { _, work in work.send { port.value?.send(1) } }, count: 2))
        },
        Program("a message and a post") { play in
            let port = Shared<Loop.MessagePort<Int>?>(nil)
            play.loop(
                prepare: { loop, work in
                    port.value = Loop.MessagePort { _ in work.serve(1) }
                    loop.add(port.value!, in: .default)
                },
                senders: [
                    { _, work in work.send { port.value?.send(1) } }, { loop, work in work.post(to: loop) },
                ])
        },
        Program("a message to a spinning loop", bound: 1) { play in
            let port = Shared<Loop.MessagePort<Int>?>(nil)
            let sent = Shared<Int64>(.max)
            play.loop(
                prepare: { loop, work in
                    loop.spinDuration = .microseconds(12)
                    port.value = Loop.MessagePort { _ in
                        let late = System.monotonicNanoseconds() - sent.value
                        play.require(sent.value == .max || late < 9_000, "A message waits for \(late) ns of a spin.")
                        work.serve(1)
                    }
                    loop.add(port.value!, in: .default)
                },
                senders: [
                    { _, work in
                        work.send { port.value?.send(1) }
                        sent.value = System.monotonicNanoseconds()
                    }
                ])
        },
        Program("stop", bound: 3) { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                loop.perform { start { loop.stop() } }
                // A stop that is lost shows by the time.
                let result = loop.run(mode: .default, for: .seconds(1000))
                play.require(result == .stopped, "The run returned \(result).")
            }
        },
        Program("wake-up", bound: 3) { play in
            play.thread {
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let hasWoken = Shared(false)
                loop.perform {
                    start {
                        hasWoken.value = true
                        loop.wakeUp()
                    }
                }
                let observer = Loop.Observer([.beforeTimers, .afterWaiting]) { _, _ in if hasWoken.value { loop.stop() }
                }
                loop.add(observer, in: .default)
                loop.run()
            }
        },
        Program("a timer of another thread") { play in
            play.loop(senders: [
                { loop, work in
                    loop.add(Loop.Timer(after: .milliseconds(1)) { _ in work.serve(1) }, in: .default)
                }
            ])
        },
        Program("an earlier timer of another thread") { play in
            let begin = Shared<Int64>(0)
            play.loop(
                prepare: { loop, _ in
                    begin.value = System.monotonicNanoseconds()
                    loop.add(Loop.Timer(after: .seconds(100)) { _ in }, in: .default)
                },
                senders: [
                    { loop, work in
                        let timer = Loop.Timer(after: .milliseconds(1)) { _ in
                            let late = System.monotonicNanoseconds() - begin.value
                            play.require(late < 1_000_000_000, "The timer fires after \(late) ns.")
                            work.serve(1)
                        }
                        loop.add(timer, in: .default)
                    }
                ])
        },
        Program("a timer that goes, and a post") { play in
            let timer = Shared<Loop.Timer?>(nil)
            play.loop(
                prepare: { loop, _ in
                    timer.value = Loop.Timer(after: .milliseconds(1)) { _ in }
                    loop.add(timer.value!, in: .default)
                },
                senders: [
                    { loop, work in
                        timer.value?.invalidate()
                        work.post(to: loop)
                    }
                ])
        },
    ]

    /// Threads of the library: how they begin, are given work, and end.
    let threadPrograms: [Program] = [
        Program("a thread that begins and ends", bound: 2) { play in
            play.thread {
                let ran = Shared(0)
                let thread = try! LoopThread(name: "scheduled")
                let accepted = thread.perform { ran.value += 1 }
                thread.stop()
                thread.join()
                play.require(accepted && ran.value == 1, "A block ran \(ran.value) times.")
                play.require(!thread.perform {}, "An ended thread accepts work.")
            }
        },
        Program("the end against a sender") { play in
            let kept = Shared<Loop?>(nil)
            play.thread {
                let (accepted, ran) = (Shared(0), Shared(0))
                let thread = try! LoopThread(name: "scheduled")
                let loop = thread.loop
                kept.value = loop
                letOthersSleep()
                let sender = start { if loop.perform({ ran.value += 1 }) { accepted.value += 1 } }
                thread.stop()
                thread.join()
                System.join(sender)
                play.require(accepted.value == ran.value, "\(accepted.value) accepted, \(ran.value) ran.")
            }
            play.keepsDescriptors(kept)
        },
        Program("the end against a wake-up") { play in
            let kept = Shared<Loop?>(nil)
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let loop = thread.loop
                kept.value = loop
                letOthersSleep()
                let sender = start { loop.wakeUp() }
                thread.stop()
                thread.join()
                System.join(sender)
            }
            play.keepsDescriptors(kept)
        },
        Program("the end against a caller that waits") { play in
            play.thread {
                let ran = Shared(0)
                let thread = try! LoopThread(name: "scheduled")
                let caller = start {
                    let before = ran.value
                    let answer: Void? = try? thread.performAndWait { ran.value += 1 }
                    play.require((answer != nil) == (ran.value == before + 1), "The answer is not what happened.")
                }
                thread.stop()
                thread.join()
                System.join(caller)
            }
        },
        Program("a caller that waits with a limit") { play in
            play.thread {
                let ran = Shared(0)
                let thread = try! LoopThread(name: "scheduled")
                // The thread is busy until the time is up.
                thread.perform { letOthersSleep() }
                var hasBegun = true
                do {
                    try thread.performAndWait(for: .milliseconds(1)) { ran.value += 1 }
                } catch Loop.NoAnswer.timeIsUp(_, let begun) { hasBegun = begun } catch {}
                thread.stop()
                thread.join()
                play.require((ran.value == 1) == hasBegun, "The answer is not what happened.")
            }
        },
        Program("a pool", bound: 1) { play in
            play.thread {
                let ran = Shared(0)
                let pool = try! LoopThreadPool(count: 2)
                for _ in 0..<2 { pool.perform { ran.value += 1 } }
                pool.drainAndWait()
                play.require(ran.value == 2, "\(ran.value) of 2 blocks have run after a drain.")
                pool.stop()
                pool.join()
            }
        },
        // The workers come to the end of the queue while pieces are handed over.
        Program("the queue of a pool", bound: 2) { play in
            play.thread {
                let ran = Shared(0)
                let pool = try! LoopThreadPool(count: 1)
                for _ in 0..<2 { pool.perform { ran.value += 1 } }
                // The worker leaves the queue for it, and comes back.
                pool.perform(for: 1) {}
                pool.perform { ran.value += 1 }
                pool.drainAndWait()
                play.require(ran.value == 3, "\(ran.value) of 3 pieces have run after a drain.")
                pool.stop()
                pool.join()
            }
        },
        // A worker is stuck until the other one has done the rest.
        Program("a pool with a long piece", bound: 1) { play in
            play.thread {
                let ran = Shared(0)
                let pool = try! LoopThreadPool(count: 2)
                let isDone = Waiter()
                pool.perform { try! isDone.wait() }
                pool.perform { ran.value += 1 }
                pool.perform { isDone.fulfil(nil) }
                pool.drainAndWait()
                play.require(ran.value == 1, "The short piece has not run.")
                pool.stop()
                pool.join()
            }
        },
        // Each worker is wanted: the first piece ends after the second.
        Program("a pool whose pieces wait for each other", bound: 2) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 2)
                let isDone = Waiter()
                pool.perform { try! isDone.wait() }
                pool.perform { isDone.fulfil(nil) }
                pool.drainAndWait()
                pool.stop()
                pool.join()
            }
        },
        // A worker that has been called gets a piece of its own, which may come before the call.
        Program("a pool whose piece with a key waits for one without", bound: 1) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 2)
                let isDone = Waiter()
                // The key's worker is the one that is called first.
                let key = (0...).first { pool.loop(for: $0) === pool.loops[0] }!
                let other = start { pool.perform(for: key) { try! isDone.wait() } }
                pool.perform { isDone.fulfil(nil) }
                System.join(other)
                pool.drainAndWait()
                pool.stop()
                pool.join()
            }
        },
        // The call for the first piece may lie behind the block that runs the loop nested.
        Program("a pool whose loop runs nested for a piece", bound: 1) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 1)
                let result = Shared<Loop.RunResult?>(nil)
                pool.loops[0].perform {
                    pool.perform { Loop.current.stop() }
                    // A piece that is hidden shows by the time.
                    result.value = Loop.current.run(mode: .default, for: .seconds(1000))
                }
                pool.perform {}
                pool.loops[0].perform {}
                pool.drainAndWait()
                pool.stop()
                pool.join()
                play.require(result.value == .stopped, "The nested run returned \(String(describing: result.value)).")
            }
        },
        Program("a pool that stops with pieces in its queue", bound: 1) { play in
            play.thread {
                let ran = Shared(0)
                let pool = try! LoopThreadPool(count: 1)
                let accepted = Shared(0)
                start { for _ in 0..<2 where pool.perform({ ran.value += 1 }) { accepted.value += 1 } }
                pool.stop()
                pool.join()
                play.finally {
                    play.require(ran.value == accepted.value, "\(ran.value) of \(accepted.value) pieces have run.")
                }
            }
        },
        Program("a limiter of two threads", bound: 1) { play in
            play.thread {
                let calls = Shared<[Int]>([])
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let scroll = Throttle<Int>(interval: .milliseconds(1), edges: [.leading, .trailing], on: loop) {
                    calls.value.append($0)
                }
                for number in 1...2 { start { _ = scroll(number) } }
                loop.run(mode: .default, for: .milliseconds(10))
                play.require(Set(calls.value) == [1, 2] && calls.value.count == 2, "The calls were \(calls.value).")
            }
        },
    ]

    let programs =
        lockPrograms + loopPrograms + threadPrograms + childPrograms + descriptorPrograms + connectionPrograms
        + connectionSetPrograms + folderPrograms + portPrograms + sourcePrograms + signalPrograms + timerPrograms
        + limiterPrograms + taskPrograms + diagnosticsPrograms + releasePrograms

    /// Starts a thread that takes part.
    @discardableResult
    func start(_ body: @escaping @Sendable () -> Void) -> CThread {
        try! System.startThread(stackSize: nil, body)
    }

    /// Waits for a time, which passes only when no other thread can go on.
    func letOthersSleep() {
        let word = Atomic<UInt32>(0)
        _ = System.wait(at: word, while: 0, until: System.monotonicNanoseconds() + 1_000_000)
    }

    /// What senders have brought a loop, and what it has served. The loop stops when all is served.
    final class Work: @unchecked Sendable {
        private let loop: Loop
        private let pieces: Int
        private var begun = 0
        /// Of senders that have returned.
        private var sent = 0
        private var served = 0

        init(_ loop: Loop, pieces: Int) { (self.loop, self.pieces) = (loop, pieces) }

        /// Calls `body`, which brings one piece of work.
        func send(_ body: () -> Void) {
            begun += 1
            body()
            sent += 1
        }

        func post(to loop: Loop) { send { loop.perform { self.serve(1) } } }

        func serve(_ count: Int) {
            served += count
            if served == pieces { loop.stop() }
        }

        /// Several pieces count as one.
        func servesAll() { serve(begun - served) }

        /// What is wrong if the loop sleeps now.
        var complaint: String? {
            sent > served ? "The loop sleeps, and work of a thread that has returned waits." : nil
        }

        var end: String? { served == pieces ? nil : "\(served) of \(pieces) pieces of work were served." }
    }

    extension Play {
        /// Thread 0 runs a loop until it has served what the senders, which it starts, have brought: a piece of work
        /// each, unless `pieces` says how many.
        func loop(
            pieces: Int? = nil, prepare: @escaping @Sendable (Loop, Work) -> Void = { _, _ in },
            senders: [@Sendable (Loop, Work) -> Void]
        ) {
            let shared = Shared<Work?>(nil)
            whileSleeping { shared.value?.complaint }
            thread { [self] in
                let loop = Loop.current
                let work = Work(loop, pieces: pieces ?? senders.count)
                shared.value = work
                // Nothing else keeps the run going.
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                prepare(loop, work)
                for sender in senders { start { sender(loop, work) } }
                loop.run()
                if let complaint = work.end { require(false, complaint) }
            }
        }

        /// No descriptor is left open when the loop has ended, even while somebody has the loop.
        func keepsDescriptors(_ loop: Shared<Loop?>) {
            keepsDescriptors()
            finally { loop.value = nil }
        }

        /// No descriptor is left open when the threads have ended.
        func keepsDescriptors() {
            let before = openDescriptors()
            finally { [self] in
                let after = openDescriptors()
                require(before == after, "\(after - before) descriptors are left open.")
            }
        }
    }

    /// How many descriptors are open, of the first ones.
    private func openDescriptors() -> Int {
        var requests = (0..<256).map { pollfd(fd: $0, events: 0, revents: 0) }
        poll(&requests, nfds_t(requests.count), 0)
        return requests.count { $0.revents & Int16(POLLNVAL) == 0 }
    }
#endif
