#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// Tasks that wait for threads, pools, drains and the time, on loops that may end.
    let workTasks: [Program] = [
        Program("tasks: work for a thread against a cancellation and the thread's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let runs = play.capture()
                let task = tasks.task {
                    let answer = await outcome { try await thread.run { runs.value += 1 } }
                    play.require(
                        answer == "()"
                            ? runs.value == 1 : ["cancelled", "Stopped"].contains(answer) && runs.value == 0,
                        "The task got \(answer), and \(runs.value) runs.")
                }
                return [{ task.cancel() }, { thread.stop() }]
            }
        },
        Program("tasks: work with limits of time", bound: 1) { play in
            play.limitsWork { _, _ in [] }
        },
        Program("tasks: work with limits of time against a cancellation", bound: 1) { play in
            play.limitsWork(cancels: true) { _, task in [{ task.cancel() }] }
        },
        Program("tasks: work with limits of time against the thread's end", bound: 1) { play in
            play.limitsWork(ends: true) { thread, _ in [{ thread.stop() }] }
        },
        Program("tasks: work of two tasks against a cancellation of one", bound: 1) { play in
            play.besideLoop { loop, threads in
                let runs = play.capture()
                let tasks = (0..<2).map { number in
                    threads[0].task {
                        let answer = await outcome { try await loop.run { runs.value += 1 } }
                        play.require(
                            answer == "()" || number == 0 && answer == "cancelled", "Task \(number) got \(answer).")
                        return answer
                    }
                }
                threads[0].task {
                    let isCancelled = try await tasks[0].value == "cancelled"
                    _ = try await tasks[1].value
                    play.require(runs.value == (isCancelled ? 1 : 2), "\(runs.value) blocks have run.")
                }
                return [{ tasks[0].cancel() }]
            }
        },
        Program("tasks: work for a pool against a cancellation and the end, and a drain", bound: 1) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 1, options: .init(name: "scheduled"))
                let tasks = TaskThread()
                let runs = play.capture()
                let task = tasks.task {
                    let answer = await outcome { try await pool.run { runs.value += 1 } }
                    play.require(
                        answer == "()"
                            ? runs.value == 1 : ["cancelled", "Stopped"].contains(answer) && runs.value == 0,
                        "The task got \(answer), and \(runs.value) runs.")
                }
                tasks.task {
                    try await pool.drain()
                    play.require(pool.unfinished == [0], "After the drain \(pool.unfinished) are unfinished.")
                }
                let callers = [start { task.cancel() }, start { pool.stop() }]
                tasks.run()
                for caller in callers { System.join(caller) }
                pool.join()
                play.require(pool.unfinished == [0], "\(pool.unfinished) are unfinished.")
            }
        },
        Program("tasks: a pool's map against a cancellation and the end", bound: 1) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 2, options: .init(name: "scheduled"))
                let tasks = TaskThread()
                let isAnswered = Shared(false)
                let captured = play.capture()
                let task = tasks.task {
                    let answer = await outcome {
                        try await pool.map([1, 2, 3]) { number in
                            captured.value += 1
                            play.require(!isAnswered.value, "Part \(number) begins after the answer.")
                            return number
                        }
                    }
                    isAnswered.value = true
                    play.require(
                        ["[1, 2, 3]", "cancelled", "Stopped"].contains(answer),
                        "The map got \(answer), after \(captured.value) parts.")
                }
                let caller = start {
                    task.cancel()
                    pool.stop()
                }
                tasks.run()
                System.join(caller)
                pool.join()
                play.require(pool.unfinished == [0, 0], "\(pool.unfinished) are unfinished.")
            }
        },
        Program("tasks: drains against a cancellation of one", bound: 1) { play in
            play.thread {
                let pool = try! LoopThreadPool(count: 1, options: .init(name: "scheduled"))
                let tasks = TaskThread()
                let isDone = Shared(false)
                pool.perform { isDone.value = true }
                let waits = (0..<2).map { number in
                    tasks.task {
                        let answer = await outcome { try await pool.drain() }
                        play.require(
                            answer == "()" && isDone.value || number == 0 && answer == "cancelled",
                            "Drain \(number) got \(answer).")
                    }
                }
                let caller = start { waits[0].cancel() }
                tasks.run()
                System.join(caller)
                pool.stop()
                pool.join()
            }
        },
        Program("tasks: waits for a thread's end against a cancellation", bound: 1) { play in
            play.besideThread { thread, tasks in
                let waits = (0..<2).map { number in
                    tasks.task {
                        let answer = await outcome { try await thread.waitForEnd() }
                        play.require(
                            answer == "()" || number == 0 && answer == "cancelled", "Wait \(number) got \(answer).")
                    }
                }
                return [{ waits[0].cancel() }, { thread.stop() }]
            }
        },
        Program("tasks: a wait for the end of a set of connections against that end", bound: 1) { play in
            play.besideLoop { _, threads in
                let connections = Loop.ConnectionSet()
                threads[0].task { try await connections.waitForEnd() }
                return [
                    {
                        let (hasCompletedHere, thread) = (Shared(false), System.threadNumber)
                        connections.end(within: .zero) { hasCompletedHere.value = System.threadNumber == thread }
                        play.require(hasCompletedHere.value, "Another thread calls the closure of the empty set.")
                    }
                ]
            }
        },
        Program("tasks: sleeps against a cancellation and the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let clock = LoopClock(thread.loop)
                let sleeps = (0..<2).map { number in
                    tasks.task {
                        let answer = await outcome { try await clock.sleep(for: .seconds(1000)) }
                        play.require(
                            answer == "Ended" || number == 0 && answer == "cancelled", "Sleep \(number) got \(answer).")
                    }
                }
                return [{ sleeps[0].cancel() }, { thread.stop() }]
            }
        },
        Program("tasks: a sleep against its cancellation", bound: 2) { play in
            play.besideLoop { loop, threads in
                let begin = loop.now
                let task = threads[0].task {
                    let answer = await outcome { try await LoopClock(loop).sleep(for: .microseconds(10)) }
                    let time = begin.duration(to: loop.now)
                    play.require(
                        answer == "()" ? time >= .microseconds(10) : answer == "cancelled",
                        "The sleep got \(answer), after \(time).")
                }
                return [{ task.cancel() }]
            }
        },
        Program("tasks: a sleep that is the last item is cancelled", bound: 2) { play in
            play.endsWithTheTask { loop in try? await LoopClock(loop, in: .default).sleep(for: .seconds(500)) }
        },
        Program("tasks: ticks that are the last item are cancelled", bound: 2) { play in
            play.endsWithTheTask { loop in for await _ in loop.ticks(every: .seconds(500)) {} }
        },
        Program("tasks: calls of an actor on a loop", bound: 1) { play in
            play.besideLoop(threads: 2) { loop, threads in
                let counter = Counter(loop)
                for thread in threads {
                    thread.task {
                        await counter.count()
                        play.require(!loop.isOnOwnThread, "The task goes on on the loop's thread.")
                    }
                }
                play.finally {
                    play.require(counter.all == 2, "\(counter.all) of 2 calls were made.")
                }
                return []
            }
        },
    ]

    extension Play {
        /// Two tasks hand blocks to a thread, and wait for a short time: until about as long as that takes.
        fileprivate func limitsWork(
            cancels: Bool = false, ends: Bool = false,
            _ act: @escaping @Sendable (LoopThread, Task<Void, any Error>) -> [@Sendable () -> Void]
        ) {
            keepsDescriptors()
            thread { [self] in
                // The thread that keeps limits starts first: one that starts when another has ended may get its
                // pthread_t, and who joins that one would wait for it.
                try! TimeLimits.shared.timer(after: .zero) {}.invalidate()
                let thread = try! LoopThread(name: "scheduled")
                let tasks = TaskThread()
                let runs = [capture(), capture()]
                let mayRun = Shared([true, true])
                let all = (0..<2).map { number in
                    tasks.task { [self] in
                        let answer: String
                        do {
                            try await thread.run(for: .microseconds(number * 400 + 10)) { runs[number].value += 1 }
                            answer = "()"
                            require(runs[number].value == 1, "Block \(number) is said to have run.")
                        } catch Loop.NoAnswer.timeIsUp(_, let hasBegun) {
                            answer = "timeIsUp"
                            mayRun.value[number] = hasBegun
                        } catch {
                            answer = error is CancellationError ? "cancelled" : "\(type(of: error))"
                            mayRun.value[number] = false
                        }
                        require(
                            ["()", "timeIsUp"].contains(answer) || ends && answer == "Stopped"
                                || cancels && number == 0 && answer == "cancelled",
                            "Task \(number) got \(answer).")
                    }
                }
                let callers = act(thread, all[0]).map { start($0) }
                tasks.run()
                for caller in callers { System.join(caller) }
                thread.stop()
                thread.join()
                for number in 0..<2 {
                    require(
                        runs[number].value <= (mayRun.value[number] ? 1 : 0),
                        "Block \(number) has run \(runs[number].value) times.")
                }
                TimeLimits.shared.end()
            }
        }

        /// A run that waits for nothing but the item of a task's wait ends when the task is cancelled.
        fileprivate func endsWithTheTask(_ wait: @escaping @Sendable (Loop) async -> Void) {
            thread { [self] in
                let loop = Loop.current
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let tasks = TaskThread()
                let task = tasks.task { await wait(loop) }
                let threads = [
                    start { tasks.run() }, start { loop.retract(port, in: .default) }, start { task.cancel() },
                ]
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                let time = begin.duration(to: loop.now)
                for thread in threads { System.join(thread) }
                require(result == .finished && time < .seconds(1), "The run returned \(result) after \(time).")
                port.invalidate()
            }
        }
    }

    private actor Counter {
        private let loop: Loop
        nonisolated(unsafe) private(set) var all = 0

        init(_ loop: Loop) { self.loop = loop }

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        func count() {
            loop.preconditionIsolated()
            all += 1
        }
    }
#endif
