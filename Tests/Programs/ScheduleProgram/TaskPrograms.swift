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
            }
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

    // MARK: Quotas

    private let quotaTasks: [Program] = [
        Program("tasks: waits for a quota against a cancellation", bound: 1) { play in
            let quota = Quota(1, per: .seconds(1))
            play.waitsForTokens { loop in try await quota.wait(on: loop) }
        },
        Program("tasks: waits for a key's quota against a cancellation", bound: 1) { play in
            let quota = KeyedQuota<Int>(1, per: .seconds(1))
            play.waitsForTokens { loop in try await quota.wait(for: 1, on: loop) }
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
            play.besideLoop { loop, threads in
                let child = Child.ended()
                let tasks = (0..<2).map { _ in
                    threads[0].task { await outcome { try await child.waitForEnd() } }
                }
                threads[0].task {
                    let answers = [try await tasks[0].value, try await tasks[1].value]
                    play.require(
                        answers[1] == "exited with 0" && ["cancelled", answers[1]].contains(answers[0])
                            || answers == ["exited with 0", "\(Exit.unknown)"],
                        "The tasks got \(answers).")
                }
                return [
                    {
                        loop.add(child, in: .default)
                        tasks[0].cancel()
                    }
                ]
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
        Program("tasks: waits for a child's end against an invalidation and a cancellation") { play in
            play.besideLoop { loop, threads in
                let child = Child.ended()
                let tasks = (0..<2).map { _ in
                    threads[0].task { await outcome { try await child.waitForEnd() } }
                }
                threads[0].task {
                    let answers = [try await tasks[0].value, try await tasks[1].value]
                    play.require(
                        ["cancelled", "\(Exit.unknown)"].contains(answers[0]) && answers[1] == "\(Exit.unknown)",
                        "The tasks got \(answers).")
                }
                return [{ tasks[0].cancel() }, { child.invalidate() }]
            }
        },
    ]

    private typealias Exit = Loop.ChildProcess.Exit

    // MARK: Work for loops

    private let workTasks: [Program] = [
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

    // MARK: Sequences

    private let sequenceTasks: [Program] = [
        Program("tasks: ticks against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let interval = Duration.microseconds(10)
                let task = threads[0].task {
                    var last: Loop.Instant?
                    var count = 0
                    for await tick in loop.ticks(every: interval) {
                        if let last {
                            let step = last.duration(to: tick.scheduledTime)
                            play.require(
                                step == interval * (1 + tick.missed), "A tick missed \(tick.missed), after \(step).")
                        }
                        last = tick.scheduledTime
                        count += 1
                        if count == 3 { break }
                    }
                    play.require(count == 3 || Task.isCancelled, "The ticks ended after \(count).")
                }
                return [{ task.cancel() }]
            }
        },
        Program("tasks: ticks against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                tasks.task { for await _ in thread.loop.ticks(every: .seconds(1000)) {} }
                return [{ thread.stop() }]
            }
        },
        Program("tasks: sends and activities against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let (port, sends) = try! Loop.PortSource.makeSends(on: thread.loop)
                tasks.task {
                    var sum = 0
                    for await count in sends { sum += count }
                    play.require(sum <= 1, "\(sum) sends came.")
                }
                tasks.task { for await _ in thread.loop.activities(.beforeWaiting) {} }
                return [
                    {
                        port.send()
                        thread.stop()
                    }
                ]
            }
        },
        Program("tasks: sends against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let (port, sends) = try! Loop.PortSource.makeSends(on: loop)
                let task = threads[0].task {
                    var sum = 0
                    for await count in sends {
                        sum += count
                        play.require(sum <= 3, "\(sum) of 3 sends came.")
                        if sum == 3 { break }
                    }
                    play.require(sum == 3 || Task.isCancelled, "\(sum) of 3 sends came.")
                }
                return [{ for _ in 0..<3 { port.send() } }, { task.cancel() }]
            }
        },
        Program("tasks: sends of two threads") { play in
            play.besideLoop { loop, threads in
                let (port, sends) = try! Loop.PortSource.makeSends(on: loop)
                threads[0].task {
                    var sum = 0
                    for await count in sends {
                        sum += count
                        if sum == 3 { break }
                    }
                    play.require(sum == 3, "\(sum) of 3 sends came.")
                }
                return [{ for _ in 0..<2 { port.send() } }, { port.send() }]
            }
        },
        Program("tasks: activities against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let task = threads[0].task {
                    var last: Loop.Activity?
                    for await passage in loop.activities([.beforeWaiting, .afterWaiting]) {
                        play.require(
                            passage.missed > 0 || passage.activity != last, "\(passage.activity) came twice.")
                        last = passage.activity
                    }
                    play.require(Task.isCancelled, "The activities ended.")
                }
                return [
                    {
                        for _ in 0..<2 { loop.wakeUp() }
                        task.cancel()
                    }
                ]
            }
        },
        Program("tasks: reports of a descriptor against a cancellation", bound: 1) { play in
            let writer = Shared<Int32>(-1)
            // The task may have closed the other end.
            signal(SIGPIPE, SIG_IGN)
            play.finally {
                close(writer.value)
                signal(SIGPIPE, SIG_DFL)
            }
            play.keepsDescriptors()
            play.besideLoop { loop, threads in
                var ends: [Int32] = [0, 0]
                play.require(pipe(&ends) == 0, "There is no pipe.")
                writer.value = ends[1]
                let (source, reports) = try! Loop.FileDescriptorSource.makeReports(owning: ends[0], on: loop)
                let task = threads[0].task {
                    var count = 0
                    var byte: UInt8 = 0
                    for await _ in reports {
                        play.require(read(source.descriptor, &byte, 1) == 1, "A report has come twice.")
                        count += 1
                        if count == 2 { break }
                    }
                    play.require(count == 2 || Task.isCancelled, "\(count) of 2 bytes were reported.")
                }
                return [
                    {
                        var byte: UInt8 = 1
                        for _ in 0..<2 {
                            write(writer.value, &byte, 1)
                            loop.wakeUp()
                        }
                    }, { task.cancel() },
                ]
            }
        },
    ]

    // MARK: Messages

    private let messageTasks: [Program] = [
        Program("tasks: messages of two threads") { play in
            play.receives(4) { _, port, _ in
                [{ for number in 0..<2 { port.send(number) } }, { for number in 10..<12 { port.send(number) } }]
            }
        },
        Program("tasks: messages against a cancellation", bound: 1) { play in
            play.receives(3, cancels: true) { _, port, task in
                [{ for number in 0..<3 { port.send(number) } }, { task.cancel() }]
            }
        },
        Program("tasks: messages against an invalidation", bound: 1) { play in
            play.receives(3, cancels: true) { _, port, task in
                [{ for number in 0..<3 { port.send(number) } }, { port.invalidate() }]
            }
        },
        Program("tasks: messages against a second mode", bound: 1) { play in
            play.receives(3) { loop, port, _ in
                [
                    { for number in 0..<3 { port.send(number) } },
                    {
                        loop.add(port, in: "other")
                        loop.remove(port, in: "other")
                    },
                ]
            }
        },
        Program("tasks: messages against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: thread.loop)
                let (accepted, received) = (Shared<[Int]>([]), Shared<[Int]>([]))
                tasks.task { for await message in messages { received.value.append(message) } }
                play.finally {
                    play.require(
                        received.value == accepted.value, "Of \(accepted.value) these came: \(received.value).")
                }
                return [
                    { for number in 0..<3 where port.send(number) { accepted.value.append(number) } },
                    { thread.stop() },
                ]
            }
        },
        Program("tasks: senders that wait for room", bound: 1) { play in
            play.sendsWhenRoom(cancels: false) { _ in [] }
        },
        Program("tasks: senders that wait for room against a cancellation", bound: 1) { play in
            play.sendsWhenRoom(cancels: true) { tasks in [{ tasks[1].cancel() }] }
        },
        Program("tasks: senders that wait for room against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let received = Shared<[Int]>([])
                let port = Loop.MessagePort<Int>(capacity: 1) { received.value.append($0) }
                thread.loop.add(port, in: .common)
                let accepted = Shared<[Int]>([])
                for number in 0..<3 {
                    tasks.task {
                        let answer = await outcome { try await port.send(whenRoom: number) }
                        play.require(["()", "PortClosed"].contains(answer), "Sender \(number) got \(answer).")
                        if answer == "()" { accepted.value.append(number) }
                    }
                }
                play.finally {
                    play.require(
                        received.value.sorted() + port.takeWaiting() == accepted.value.sorted(),
                        "Of \(accepted.value) these came: \(received.value).")
                }
                return [{ thread.stop() }]
            }
        },
    ]

    extension Play {
        /// A task receives messages, those of each sender in order.
        fileprivate func receives(
            _ count: Int, cancels: Bool = false,
            _ act: @escaping @Sendable (Loop, Loop.MessagePort<Int>, Task<Void, any Error>) -> [@Sendable () -> Void]
        ) {
            besideLoop { [self] loop, threads in
                let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: loop)
                let task = threads[0].task { [self] in
                    var received: [Int] = []
                    for await message in messages {
                        received.append(message)
                        if received.count == count { break }
                    }
                    require(
                        received.count == count || cancels, "\(received.count) of \(count) messages came.")
                    for sender in 0..<2 {
                        let own = received.filter { $0 / 10 == sender }
                        require(own == own.indices.map { sender * 10 + $0 }, "The messages \(received) came.")
                    }
                    require(port.isValid || cancels, "The port is invalid.")
                }
                return act(loop, port, task)
            }
        }

        /// Three tasks send to a port with room for one message.
        fileprivate func sendsWhenRoom(
            cancels: Bool, _ act: @escaping @Sendable ([Task<Void, any Error>]) -> [@Sendable () -> Void]
        ) {
            besideLoop { [self] loop, threads in
                let received = Shared<[Int]>([])
                let port = Loop.MessagePort<Int>(capacity: 1) { received.value.append($0) }
                loop.add(port, in: .default)
                let accepted = Shared<[Int]>([])
                let tasks = (0..<3).map { number in
                    threads[0].task { [self] in
                        let answer = await outcome { try await port.send(whenRoom: number) }
                        require(
                            answer == "()" || cancels && number == 1 && answer == "cancelled",
                            "Sender \(number) got \(answer).")
                        if answer == "()" { accepted.value.append(number) }
                    }
                }
                finally { [self] in
                    require(
                        received.value == accepted.value.sorted(),
                        "Of \(accepted.value) these came: \(received.value).")
                    port.invalidate()
                }
                return act(tasks)
            }
        }
    }

    // MARK: The threads

    extension Play {
        /// Thread 0 runs a loop until tasks on other threads have ended. Further threads do what is returned.
        fileprivate func besideLoop(
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
        fileprivate func besideThread(
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
