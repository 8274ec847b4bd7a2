#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// Tasks that receive messages, or send them when there is room.
    let messageTasks: [Program] = [
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
            play.receivesBesideTheEnd(of: 3, thenFinishes: false)
        },
        Program("tasks: messages against an end that is announced", bound: 1) { play in
            play.receivesToTheEnd { _ in {} }
        },
        Program("tasks: messages against an announced end with a handler", bound: 1) { play in
            let ends = Shared(0)
            play.receivesToTheEnd { port in
                port.setEndHandler { ends.value += 1 }
                return {}
            }
            play.finally {
                play.require(ends.value == 1, "The end came \(ends.value) times.")
                ends.value = 0
            }
        },
        Program("tasks: an announced end against an invalidation", bound: 1) { play in
            play.receivesToTheEnd(drops: true) { port in { port.invalidate() } }
        },
        Program("tasks: an announced end against the loop's end", bound: 1) { play in
            play.receivesBesideTheEnd(of: 2, thenFinishes: true)
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

        /// A task receives all messages that a port accepts until its end, which another thread announces. A run that
        /// waits for nothing else ends then.
        fileprivate func receivesToTheEnd(
            drops: Bool = false, _ act: @escaping @Sendable (Loop.MessagePort<Int>) -> @Sendable () -> Void
        ) {
            thread { [self] in
                let loop = Loop.current
                let tasks = TaskThread()
                let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: loop, in: .default)
                let (accepted, received) = (Shared<[Int]>([]), Shared<[Int]>([]))
                tasks.task { for await message in messages { received.value.append(message) } }
                let other = act(port)
                let callers = [
                    start { tasks.run() },
                    start {
                        for number in 0..<2 where port.send(number) { accepted.value.append(number) }
                        port.finish()
                    }, start { other() },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for caller in callers { System.join(caller) }
                require(drops || result == .finished, "The run returned \(result).")
                require(!port.isValid, "The port goes on.")
                require(
                    drops ? accepted.value.starts(with: received.value) : received.value == accepted.value,
                    "Of \(accepted.value) these came: \(received.value).")
            }
        }

        /// A task receives the messages of a sender, until the loop's thread is stopped.
        fileprivate func receivesBesideTheEnd(of count: Int, thenFinishes: Bool) {
            besideThread { [self] thread, tasks in
                let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: thread.loop)
                let (accepted, received) = (Shared<[Int]>([]), Shared<[Int]>([]))
                tasks.task { for await message in messages { received.value.append(message) } }
                finally { [self] in
                    require(received.value == accepted.value, "Of \(accepted.value) these came: \(received.value).")
                }
                return [
                    {
                        for number in 0..<count where port.send(number) { accepted.value.append(number) }
                        if thenFinishes { port.finish() }
                    },
                    { thread.stop() },
                ]
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
#endif
