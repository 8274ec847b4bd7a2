#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Tasks that wait, all of whose jobs run on threads that take part. Each wait gets one answer, whatever ends it.
    let taskPrograms: [Program] =
        TaskThread.isPlayable
        ? limiterTasks + quotaTasks + childTasks + workTasks + sequenceTasks + messageTasks : []

    // MARK: Limiters

    private let limiterTasks: [Program] =
        [
            Program("tasks: two limiters whose actions wait for each other") { play in
                play.besideLoop(threads: 2) { loop, threads in
                    let second = Shared<AsyncLimiter<Int, Int>?>(nil)
                    let first = AsyncLimiter<Int, Int>.throttle(
                        interval: .zero, on: loop, executorPreference: threads[0]
                    ) { input in input > 1 ? input : try await second.value!.run(input + 1) ?? 100 }
                    second.value = .throttle(interval: .zero, on: loop, executorPreference: threads[1]) { input in
                        try await first.run(input + 1) ?? input
                    }
                    threads[0].task {
                        let answer = try await first.run(1)
                        play.require(answer == 2, "The answer is \(answer.map(String.init) ?? "nil").")
                    }
                    play.finally { second.value = nil }
                    return []
                }
            }
        ]
        + [RateLimitOverlap.queueLatest, .skipWhileRunning, .cancelPrevious].flatMap { overlap in
            let act: [(String, @Sendable (AsyncLimiter<Int, Int>) -> Void)] = [
                ("a cancellation", { $0.cancel() }), ("an invalidation", { $0.invalidate() }),
                ("a flush", { $0.flush() }),
            ]
            return act.map { name, act in
                Program("tasks: calls of a limiter against \(name), \(overlap)", bound: 1) { play in
                    play.limits(overlap) { limiter, _ in [{ act(limiter) }] }
                }
            } + [
                Program("tasks: calls of a limiter against a task's cancellation, \(overlap)", bound: 1) { play in
                    play.limits(overlap, cancels: true) { _, task in [{ task.cancel() }] }
                }
            ]
        }
        + [
            Program("tasks: a call that replaces an action against the start of that action", bound: 2) { play in
                play.besideLoop { loop, threads in
                    let acts = play.capture()
                    let limiter = AsyncLimiter<Int, Int>.throttle(
                        interval: .zero, on: loop, whileRunning: .cancelPrevious, executorPreference: threads[0])
                    threads[0].task {
                        let answer = await outcome { try await limiter.run(1) }
                        play.require(answer == "nil", "The answer is \(answer).")
                    }
                    return [
                        {
                            limiter.setHandler { [weak limiter] input in
                                acts.value += 1
                                guard input == 1 else { return input }
                                limiter?(2)
                                // Throws, but by then the caller has its answer.
                                try await Task.sleep(for: .seconds(1), clock: .loop(loop))
                                return input
                            }
                        }
                    ]
                }
            },
            Program("tasks: calls of a limiter against the loop's end", bound: 1) { play in
                play.besideThread { thread, tasks in
                    let acts = play.capture()
                    let limiter = AsyncLimiter<Int, Int>.debounce(
                        interval: .milliseconds(1), on: thread.loop, whenReleased: .flush, executorPreference: tasks
                    ) { input in
                        acts.value += 1
                        return input
                    }
                    for number in 1...2 {
                        tasks.task {
                            let value = try await limiter.run(number)
                            play.require(
                                value == nil || acts.value > 0,
                                "The answer is \(value.map(String.init) ?? "nil"), of \(acts.value) actions.")
                        }
                    }
                    return [{ thread.stop() }]
                }
            },
        ]
        + [RateLimitRelease.flush, .discard].map { release in
            Program("tasks: calls of a limiter against its release, \(release)", bound: 1) { play in
                play.besideLoop { loop, threads in
                    let acts = play.capture()
                    let limiter = Shared<AsyncLimiter<Int, Int>?>(
                        .debounce(
                            interval: .milliseconds(1), on: loop, whenReleased: release, executorPreference: threads[0]
                        ) { input in
                            acts.value += 1
                            return input
                        })
                    threads[0].task {
                        let answers = (1...2).compactMap { limiter.value?.call($0) }
                        limiter.value = nil
                        for answer in answers {
                            let value = try await answer.value
                            play.require(
                                value == (release == .flush ? answers.count : nil),
                                "The answer is \(value.map(String.init) ?? "nil"), of \(acts.value) actions.")
                        }
                    }
                    return [{ limiter.value = nil }]
                }
            }
        }

    extension Play {
        /// Three tasks on two threads call a limiter. Each gets the answer of an action, or nil.
        fileprivate func limits(
            _ overlap: RateLimitOverlap, cancels: Bool = false,
            _ act: @escaping @Sendable (AsyncLimiter<Int, Int>, Task<String, any Error>) -> [@Sendable () -> Void]
        ) {
            besideLoop(threads: 2) { [self] loop, threads in
                let acts = Shared<[String]>([])
                let captured = capture()
                let limiter = AsyncLimiter<Int, Int>.throttle(
                    interval: .milliseconds(1), edges: [.leading, .trailing], on: loop, whileRunning: overlap,
                    executorPreference: threads[1]
                ) { input in
                    captured.value += 1
                    await Task.yield()
                    acts.value.append("Optional(\(input))")
                    return input
                }
                let tasks = (1...3).map { number in
                    threads[number % 2].task { [self] in
                        let answer = await outcome { try await limiter.run(number) }
                        require(
                            answer == "nil" || acts.value.contains(answer)
                                || cancels && number == 1
                                    && answer == "cancelled",
                            "Call \(number) got \(answer), after \(acts.value).")
                        return answer
                    }
                }
                finally { [self] in
                    require(Set(acts.value).count == acts.value.count, "\(acts.value) were acted on.")
                }
                return act(limiter, tasks[0])
            }
        }
    }

    // MARK: Quotas, and limits of tasks at once

    private let quotaTasks: [Program] = [
        Program("tasks: places of a limit against a cancellation", bound: 1) { play in
            play.besideLoop(threads: 2) { _, threads in
                let (limit, running) = (ConcurrencyLimit(1), Shared(0))
                let tasks = (0..<3).map { number in
                    threads[number % 2].task {
                        let answer = await outcome {
                            try await limit.run {
                                running.value += 1
                                play.require(running.value == 1, "Two tasks have the place.")
                                await Task.yield()
                                running.value -= 1
                            }
                        }
                        play.require(
                            answer == "()" || answer == "cancelled" && number == 1, "Task \(number) got \(answer).")
                    }
                }
                play.finally {
                    play.require(limit.runningCount == 0 && limit.waitingCount == 0, "In the end: \(limit).")
                }
                return [{ tasks[1].cancel() }]
            }
        },
        Program("tasks: waits for a quota against a cancellation", bound: 1) { play in
            let quota = Quota(1, per: .seconds(1))
            play.waitsForTokens { loop in try await quota.wait(on: loop) }
        },
        Program("tasks: waits for a key's quota against a cancellation", bound: 1) { play in
            let quota = KeyedQuota<Int>(1, per: .seconds(1))
            play.waitsForTokens { loop in try await quota.wait(for: 1, on: loop) }
        },
        Program("tasks: a cancelled wait for a quota against a call that takes", bound: 1) { play in
            let quota = Quota(1, per: .seconds(1000), burst: 2)
            play.handsOnTokens { cost, loop in
                try await quota.wait(cost, on: loop)
            } take: {
                quota.take(2)
            }
        },
        Program("tasks: a cancelled wait for a key's quota against a call that takes", bound: 1) { play in
            let quota = KeyedQuota<Int>(1, per: .seconds(1000), burst: 2)
            play.handsOnTokens { cost, loop in
                try await quota.wait(cost, for: 1, on: loop)
            } take: {
                quota.take(2, for: 1)
            }
        },
        Program("tasks: waits for a quota against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let quota = Quota(1, per: .seconds(1000))
                play.require(quota.take().isAllowed, "There is no token.")
                for _ in 0..<2 {
                    tasks.task {
                        let answer = await outcome { try await quota.wait(on: thread.loop) }
                        play.require(answer == "Ended", "A wait got \(answer).")
                    }
                }
                play.finally {
                    let debt = quota.reserve(0)!
                    play.require(debt == .zero, "The quota owes tokens for \(debt).")
                }
                return [{ thread.stop() }]
            }
        },
    ]

    extension Play {
        /// Of a quota that holds two tokens, a task waits for three and is cancelled; one behind it waits for one. Both
        /// tokens are never there for others.
        fileprivate func handsOnTokens(
            _ wait: @escaping @Sendable (_ cost: Int, Loop) async throws -> Void,
            take: @escaping @Sendable () -> Quota.Answer
        ) {
            besideLoop { [self] loop, threads in
                let areInLine = Shared(false)
                let first = threads[0].task { await outcome { try await wait(3, loop) } }
                let second = threads[0].task { await outcome { try await wait(1, loop) } }
                threads[0].task { [self] in
                    areInLine.value = true
                    first.cancel()
                    let answers = [try await first.value, try await second.value]
                    require(answers == ["cancelled", "()"], "The tasks got \(answers).")
                }
                return [
                    { [self] in
                        guard areInLine.value else { return }
                        require(!take().isAllowed, "A call has overtaken the second task.")
                    }
                ]
            }
        }

        /// Three tasks wait for tokens, of which one comes in a second; the second one is cancelled.
        fileprivate func waitsForTokens(_ wait: @escaping @Sendable (Loop) async throws -> Void) {
            besideLoop { [self] loop, threads in
                let begin = loop.now
                let gotten = Shared(0)
                let tasks = (0..<3).map { number in
                    threads[0].task { [self] in
                        let answer = await outcome { try await wait(loop) }
                        require(
                            answer == "()" || number == 1 && answer == "cancelled", "Wait \(number) got \(answer).")
                        if answer == "()" { gotten.value += 1 }
                    }
                }
                threads[0].task { [self] in
                    for task in tasks { try await task.value }
                    let time = begin.duration(to: loop.now)
                    require(
                        time >= .seconds(gotten.value - 1) && time < .milliseconds(gotten.value * 1000 - 500),
                        "\(gotten.value) tokens came in \(time).")
                }
                return [{ tasks[1].cancel() }]
            }
        }
    }

    // MARK: Children

    private let childTasks: [Program] = [
        Program("tasks: a wait for a child's end against its cancellation, and one after it") { play in
            play.besideLoop { loop, threads in
                let child = Child.ended()
                loop.add(child, in: .default)
                let first = threads[0].task { await outcome { try await child.waitForEnd() } }
                threads[0].task {
                    let answers = [
                        try await first.value, await outcome { try await child.waitForEnd() },
                    ]
                    play.require(
                        answers == ["cancelled", "exited with 0"] || answers == ["exited with 0", "\(Exit.unknown)"],
                        "The tasks got \(answers).")
                }
                return [{ first.cancel() }]
            }
        },
        Program("tasks: two waits for a child's end against a cancellation") { play in
            play.waitsTwice { loop, child, first in
                [
                    {
                        loop.add(child, in: .default)
                        first.cancel()
                    }
                ]
            } isRight: { answers in
                answers[1] == "exited with 0" && ["cancelled", answers[1]].contains(answers[0])
                    || answers == ["exited with 0", "\(Exit.unknown)"]
            }
        },
        Program("tasks: a wait for a child's end against its cancellation, and a handler") { play in
            play.besideLoop { loop, threads in
                let child = Child.ended()
                loop.add(child, in: .default)
                let ends = Shared(0)
                let first = threads[0].task { await outcome { try await child.waitForEnd() } }
                threads[0].task {
                    let answer = try await first.value
                    let isSet = child.setHandler { _, _ in ends.value += 1 }
                    play.finally {
                        play.require(
                            answer == "cancelled" ? isSet && ends.value == 1 : ends.value == 0,
                            "The task got \(answer), the handler \(ends.value) ends.")
                    }
                }
                return [{ first.cancel() }]
            }
        },
        Program("tasks: a wait for a child's end against a handler that is set") { play in
            play.besideLoop { loop, threads in
                let child = Child.ended()
                let ends = Shared(0)
                let isSet = Shared(false)
                let answer = Shared("")
                threads[0].task { answer.value = await outcome { try await child.waitForEnd() } }
                play.finally {
                    // A wait that begins after the handler's call has found the child invalid.
                    let hasEnd = answer.value == "exited with 0"
                    play.require(
                        (hasEnd || ends.value == 1 && answer.value == "\(Exit.unknown)")
                            && ends.value == (isSet.value ? 1 : 0),
                        "setHandler said \(isSet.value): the task got \(answer.value), the handler \(ends.value).")
                }
                return [
                    { loop.add(child, in: .default) },
                    { isSet.value = child.setHandler { _, _ in ends.value += 1 } },
                ]
            }
        },
        Program("tasks: waits for a supervised child's ends", bound: 1) { play in
            play.supervises { _, _ in [] }
        },
        Program("tasks: waits for a supervised child's ends against its end", bound: 1) { play in
            play.supervises { supervised, _ in [{ supervised.end(within: .seconds(10)) }] }
        },
        Program("tasks: waits for a supervised child's ends against a cancellation", bound: 1) { play in
            play.supervises(cancels: true) { _, cancelFirst in [{ cancelFirst() }] }
        },
        Program("tasks: waits for a supervised child's ends against an invalidation", bound: 1) { play in
            play.supervises(invalidates: true) { supervised, _ in [{ supervised.child?.invalidate() }] }
        },
        Program("tasks: waits for a child's end against an invalidation and a cancellation") { play in
            play.waitsTwice { _, child, first in
                [{ first.cancel() }, { child.invalidate() }]
            } isRight: { answers in
                ["cancelled", "\(Exit.unknown)"].contains(answers[0]) && answers[1] == "\(Exit.unknown)"
            }
        },
    ]

    extension Play {
        /// Two tasks wait for the end of a child.
        ///
        /// - Parameters:
        ///   - act: What further threads do, given the first task.
        ///   - isRight: Whether the tasks may get these answers.
        fileprivate func waitsTwice(
            _ act: @escaping @Sendable (Loop, Loop.ChildProcess, Task<String, any Error>) -> [@Sendable () -> Void],
            isRight: @escaping @Sendable ([String]) -> Bool
        ) {
            besideLoop { [self] loop, threads in
                let child = Child.ended()
                let tasks = (0..<2).map { _ in
                    threads[0].task { await outcome { try await child.waitForEnd() } }
                }
                threads[0].task { [self] in
                    let answers = [try await tasks[0].value, try await tasks[1].value]
                    require(isRight(answers), "The tasks got \(answers).")
                }
                return act(loop, child, tasks[0])
            }
        }
    }

    extension Play {
        /// A task waits for the end of each child that is supervised. The children end at once, and there are two.
        ///
        /// - Parameter act: What further threads do, given what cancels the first wait.
        fileprivate func supervises(
            cancels: Bool = false, invalidates: Bool = false,
            _ act: @escaping @Sendable (Loop.SupervisedChild, @escaping @Sendable () -> Void) -> [@Sendable () -> Void]
        ) {
            keepsDescriptors()
            besideLoop { [self] loop, threads in
                let supervised = Loop.SupervisedChild(
                    on: loop, in: .default, backoff: Loop.Backoff(from: .seconds(1), to: .seconds(2)),
                    restarts: .always, quickEndLimit: 2
                ) { Child.ended() }
                let captured = capture()
                let over = Promise<Void>()
                let waits = Shared<[Task<Void, any Error>]>([])
                // (Also keeps the tasks' thread.)
                threads[0].task { try await over.value {} }
                let (started, ended) = (Shared(0), Shared(0))
                supervised.start { [self] _, event in
                    captured.value += 1
                    switch event {
                    case .started(let child):
                        started.value += 1
                        let number = started.value
                        let wait = threads[0].task { [self] in
                            let answer = await outcome { try await child.waitForEnd() }
                            // A wait that begins after the report has found the child invalid.
                            require(
                                answer == "exited with 0" || !child.isValid && answer == "\(Exit.unknown)"
                                    || cancels && number == 1 && answer == "cancelled",
                                "Wait \(number) got \(answer).")
                        }
                        waits.value.append(wait)
                    case .ended: ended.value += 1
                    case .notStarted(let error, _): require(false, "It is not started: \(error).")
                    case .over:
                        require(ended.value == started.value || invalidates, "\(ended.value) children have ended.")
                        over.fulfil(.success(()))
                    }
                }
                return act(supervised) { waits.value.first?.cancel() }
            }
        }
    }

    private typealias Exit = Loop.ChildProcess.Exit

    // MARK: The threads

    extension Play {
        /// Thread 0 runs a loop until tasks on other threads have ended. Further threads do what is returned.
        func besideLoop(
            threads count: Int = 1,
            _ prepare: @escaping @Sendable (Loop, [TaskThread]) -> [@Sendable () -> Void]
        ) {
            thread {
                let loop = Loop.current
                // Something else keeps the run going.
                let port = try! Loop.PortSource { _ in }
                loop.add(port, in: .default)
                let threads = (0..<count).map { _ in TaskThread() }
                for thread in threads {
                    thread.keep()
                    thread.whenIdle = { if threads.allSatisfy({ $0.rest == 0 }) { loop.perform { loop.stop() } } }
                }
                let callers = prepare(loop, threads)
                let all = threads.map { thread in start { thread.run() } } + callers.map { start($0) }
                loop.run()
                // What comes after the tasks, such as an action that a limiter has queued.
                for _ in 0..<2 {
                    loop.run(mode: .default, for: .milliseconds(20))
                    letOthersSleep()
                }
                for thread in threads {
                    thread.whenIdle = {}
                    thread.letGo()
                }
                for thread in all { System.join(thread) }
                port.invalidate()
            }
        }

        /// Thread 0 runs tasks beside a `LoopThread`. Further threads do what is returned.
        func besideThread(
            _ prepare: @escaping @Sendable (LoopThread, TaskThread) -> [@Sendable () -> Void]
        ) {
            thread {
                let thread = try! LoopThread(name: "scheduled")
                let tasks = TaskThread()
                let callers = prepare(thread, tasks).map { start($0) }
                tasks.run()
                for caller in callers { System.join(caller) }
                thread.stop()
                thread.join()
            }
        }
    }
#endif
