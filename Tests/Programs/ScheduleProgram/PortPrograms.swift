#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Ports: each message is handled, refused, or dropped, whatever becomes of the port meanwhile.
    let portPrograms: [Program] = [
        Program("a message against an invalidation") { play in
            play.thread {
                let loop = Loop.current
                let (captured, sent) = (play.capture(), play.capture())
                let port = Loop.MessagePort<Shared<Int>> { _ in captured.value += 1 }
                loop.add(port, in: .default)
                let accepted = Shared(0)
                let threads = [
                    start { if port.send(sent) { accepted.value += 1 } },
                    start {
                        port.invalidate()
                        loop.wakeUp()
                    },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished, "The run returned \(result).")
                play.require(captured.value <= accepted.value, "A refused message was handled.")
                play.require(!port.send(sent), "An invalid port accepts messages.")
            }
        },
        Program("messages against a move to another mode") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let port = Loop.MessagePort<Int> { _ in captured.value += 1 }
                loop.add(port, in: .default)
                let threads = [
                    start { for number in 0..<2 { play.require(port.send(number), "It refuses a message.") } },
                    start {
                        loop.remove(port, in: .default)
                        loop.add(port, in: "other")
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                loop.run(mode: "other", for: .milliseconds(10))
                play.require(captured.value == 2, "\(captured.value) of 2 messages were handled.")
                port.invalidate()
            }
        },
        Program("messages against a second mode") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let port = Loop.MessagePort<Int> { _ in
                    captured.value += 1
                    if captured.value == 2 { loop.stop() }
                }
                loop.add(port, in: "other")
                let threads = [
                    start { for number in 0..<2 { play.require(port.send(number), "It refuses a message.") } },
                    start { loop.add(port, in: .default) }, start { loop.remove(port, in: "other") },
                ]
                // Something else keeps the run going until the port is there.
                let kept = try! Loop.PortSource { _ in }
                loop.add(kept, in: .default)
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .stopped, "\(captured.value) of 2 messages were handled.")
                port.invalidate()
                kept.invalidate()
            }
        },
        Program("a message against a move to another loop") { play in
            play.thread {
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = play.capture()
                let port = Loop.MessagePort<Int> { _ in captured.value += 1 }
                loop.add(port, in: .default)
                let accepted = Shared(0)
                let threads = [
                    start { for number in 0..<2 where port.send(number) { accepted.value += 1 } },
                    start {
                        loop.remove(port, in: .default)
                        other.loop.add(port, in: .default)
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                other.perform { letOthersSleep() }
                let begin = System.monotonicNanoseconds()
                while captured.value < accepted.value, System.monotonicNanoseconds() - begin < 1_000_000_000 {
                    letOthersSleep()
                }
                play.require(accepted.value == 2, "It refuses messages.")
                play.require(captured.value == 2, "\(captured.value) of 2 messages were handled.")
                port.invalidate()
                other.stop()
                other.join()
            }
        },
        Program("a message against the loop's end") { play in
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let (captured, sent) = (play.capture(), play.capture())
                let port = Loop.MessagePort<Shared<Int>> { _ in captured.value += 1 }
                thread.loop.add(port, in: .default)
                let accepted = Shared(0)
                let sender = start { for _ in 0..<2 where port.send(sent) { accepted.value += 1 } }
                thread.stop()
                thread.join()
                System.join(sender)
                play.require(captured.value <= accepted.value, "A refused message was handled.")
                // It may go on in another loop, with the messages that wait.
                Loop.current.add(port, in: .default)
                Loop.current.run(mode: .default, for: .milliseconds(10))
                play.require(
                    captured.value == accepted.value, "\(captured.value) of \(accepted.value) messages were handled.")
                play.require(port.send(sent), "It refuses messages in another loop.")
                port.invalidate()
            }
        },
        Program("messages against an end that is announced") { play in
            play.finishes { port, _ in [{ port.finish() }] }
        },
        Program("messages against two announcements of the end") { play in
            play.finishes { port, _ in [{ port.finish() }, { port.finish() }] }
        },
        Program("an announced end against an invalidation") { play in
            play.finishes(drops: true) { port, loop in
                [
                    { port.finish() },
                    {
                        port.invalidate()
                        loop.wakeUp()
                    },
                ]
            }
        },
        Program("an announced end against a pause") { play in
            play.finishes { port, _ in
                [
                    { port.finish() },
                    {
                        port.disarm()
                        port.rearm()
                    },
                ]
            }
        },
        Program("an announced end against a handler") { play in
            play.finishes(hasHandler: false) { port, _ in [{ port.finish() }] }
        },
        Program("an announced end against a move to another mode", bound: 1) { play in
            play.finishes { port, loop in
                [
                    { port.finish() },
                    {
                        loop.add(port, in: "other")
                        loop.remove(port, in: .default)
                        loop.wakeUp()
                    },
                ]
            }
        },
        Program("an announced end against the loop's end", bound: 1) { play in
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let (handled, ends) = (play.capture(), play.capture())
                let port = Loop.MessagePort<Int> { _ in
                    handled.value += 1
                    play.require(ends.value == 0, "A message comes after the end.")
                }
                port.setEndHandler { ends.value += 1 }
                thread.loop.add(port, in: .default)
                let accepted = Shared(0)
                let sender = start {
                    for number in 0..<2 where port.send(number) { accepted.value += 1 }
                    port.finish()
                }
                thread.stop()
                thread.join()
                System.join(sender)
                // What is left goes on in another loop.
                play.require(Loop.current.add(port, in: .default) != (ends.value == 1), "The end is no end.")
                let result = Loop.current.run(mode: .default, for: .seconds(1000))
                play.require(result == .finished, "The run returned \(result).")
                play.require(
                    handled.value == accepted.value && ends.value == 1,
                    "\(handled.value) of \(accepted.value) messages were handled, and \(ends.value) ends.")
            }
        },
        Program("messages that wait for room, and an announced end") { play in
            play.waits { port, loop in
                start { port.finish() }
                while loop.run(mode: .default, for: .seconds(1)) != .finished {}
            }
        },
        Program("messages that wait for room") { play in
            play.waits { port, loop in
                while port.isValid, loop.run(mode: .default, for: .milliseconds(10)) != .finished {
                    if port.waitingCount == 0 { port.invalidate() }
                }
            }
        },
        Program("messages that wait for room, and are withdrawn") { play in
            play.waits(withdraws: true) { port, loop in
                loop.run(mode: .default, for: .milliseconds(10))
                port.invalidate()
            }
        },
        Program("messages that wait for room, and an invalidation") { play in
            play.waits(withdraws: true) { port, loop in
                start { port.invalidate() }
                loop.run(mode: .default, for: .milliseconds(10))
            }
        },
        Program("messages that wait for room, and are taken out") { play in
            let taken = Shared(0)
            play.waits(taken: taken) { port, loop in
                start { taken.value += port.takeWaiting().count }
                loop.run(mode: .default, for: .milliseconds(10))
                port.invalidate()
            }
        },
        Program("messages that wait for room, and the loop's end") { play in
            play.thread {
                let thread = try! LoopThread(name: "scheduled")
                let captured = play.capture()
                let port = Loop.MessagePort<Int>(capacity: 1) { _ in captured.value += 1 }
                thread.loop.add(port, in: .default)
                let offers = Shared<[Loop.MessagePort<Int>.Outcome]>([])
                let senders = (0..<2).map { number in
                    start { offers.value.append(port.offer(number, waiting: true)) }
                }
                thread.stop()
                thread.join()
                for sender in senders { System.join(sender) }
                for case .waits(let sender) in offers.value {
                    play.require(sender.result != nil, "A sender waits for a loop that has ended.")
                }
                port.invalidate()
            }
        },
        Program("messages to a port that is armed again") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let port = Loop.MessagePort<Int>(isOneShot: true) { _ in
                    captured.value += 1
                    if captured.value == 2 { loop.stop() }
                }
                loop.add(port, in: .default)
                let threads = [
                    start { for number in 0..<2 { port.send(number) } },
                    start {
                        port.disarm()
                        port.rearm()
                    },
                ]
                var result = loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                while captured.value < 2 {
                    let before = captured.value
                    port.rearm()
                    result = loop.run(mode: .default, for: .milliseconds(10))
                    play.require(captured.value > before, "A message is not handled: \(result).")
                }
                port.invalidate()
            }
        },
        Program("a message against a handler") { play in
            play.thread {
                let port = Loop.MessagePort<Int>()
                play.handlesOnce(port, handOver: { port.send(1) }) { act in port.setHandler { _ in act(1) } }
            }
        },
        Program("a send to a port against a handler") { play in
            play.keepsDescriptors()
            play.thread {
                let port = try! Loop.PortSource()
                play.handlesOnce(port, handOver: { port.send() }) { act in port.setHandler { act($0) } }
            }
        },
        Program("sends to a port against an invalidation") { play in
            play.keepsDescriptors()
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let port = try! Loop.PortSource { count in captured.value += count }
                loop.add(port, in: .default)
                let threads = [
                    start {
                        port.send()
                        port.send()
                    },
                    start {
                        port.invalidate()
                        loop.wakeUp()
                    },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished && captured.value <= 2, "\(captured.value) of 2 sends: \(result).")
            }
        },
        Program("sends to a port against a move to another mode") { play in
            play.keepsDescriptors()
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let port = try! Loop.PortSource { count in captured.value += count }
                loop.add(port, in: .default)
                let threads = [
                    start {
                        port.send()
                        port.send()
                    },
                    start {
                        loop.remove(port, in: .default)
                        loop.add(port, in: "other")
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                loop.run(mode: "other", for: .milliseconds(10))
                play.require(captured.value == 2, "\(captured.value) of 2 sends were handled.")
                port.invalidate()
            }
        },
        Program("sends to a port in two loops") { play in
            play.keepsDescriptors()
            play.thread {
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = play.capture()
                let port = try! Loop.PortSource { count in captured.value += count }
                loop.add(port, in: .default)
                let threads = [
                    start {
                        port.send()
                        port.send()
                    },
                    start {
                        other.loop.add(port, in: .default)
                        loop.remove(port, in: .default)
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                let begin = System.monotonicNanoseconds()
                while captured.value < 2, System.monotonicNanoseconds() - begin < 1_000_000_000 { letOthersSleep() }
                play.require(captured.value == 2, "\(captured.value) of 2 sends were handled.")
                port.invalidate()
                other.stop()
                other.join()
            }
        },
    ]

    extension WaitingSender {
        /// The answer of a sender that waits, if it has one.
        fileprivate var result: Result<Void, any Error>? {
            Mirror(reflecting: answer).descendant("result") as? Result<Void, any Error>
        }
    }

    extension Play {
        /// Two messages to a port whose end others announce: what it accepts is handled, then the end.
        ///
        /// - Parameter drops: Whether the port may be invalidated.
        fileprivate func finishes(
            drops: Bool = false, hasHandler: Bool = true,
            _ act: @escaping @Sendable (Loop.MessagePort<Int>, Loop) -> [@Sendable () -> Void]
        ) {
            thread { [self] in
                let loop = Loop.current
                let (handled, ends) = (capture(), capture())
                let handler: @Sendable (Int) -> Void = { [self] _ in
                    handled.value += 1
                    require(ends.value == 0, "A message comes after the end.")
                }
                let port = Loop.MessagePort<Int>(handler: hasHandler ? handler : nil)
                port.setEndHandler { [self] in
                    ends.value += 1
                    require(!port.isValid, "The port is valid at its end.")
                }
                loop.add(port, in: .default)
                let accepted = Shared(0)
                let callers =
                    [start { for number in 0..<2 where port.send(number) { accepted.value += 1 } }]
                    + act(port, loop).map { start($0) } + (hasHandler ? [] : [start { port.setHandler(handler) }])
                let results = ["default", "other"].map { loop.run(mode: Loop.Mode($0), for: .seconds(1000)) }
                for caller in callers { System.join(caller) }
                _ = loop.run(mode: "other", for: .seconds(1000))
                require(!port.isValid && !port.send(2) && !port.finish(), "The port goes on.")
                require(!results.contains(.timedOut), "The runs returned \(results).")
                require(
                    drops
                        ? handled.value <= accepted.value && ends.value <= 1
                        : handled.value == accepted.value && ends.value == 1,
                    "\(handled.value) of \(accepted.value) messages were handled, and \(ends.value) ends.")
            }
        }

        /// Messages to a port with room for one: each has one fate, which its sender learns.
        fileprivate func waits(
            withdraws: Bool = false, taken: Shared<Int>? = nil,
            _ act: @escaping @Sendable (Loop.MessagePort<Shared<Int>>, Loop) -> Void
        ) {
            thread { [self] in
                let loop = Loop.current
                let (captured, sent) = (capture(), capture())
                let port = Loop.MessagePort<Shared<Int>>(capacity: 1) { _ in captured.value += 1 }
                loop.add(port, in: .default)
                let (accepted, refused) = (Shared(0), Shared(0))
                let waiting = Shared<[WaitingSender<Shared<Int>>]>([])
                let senders = (0..<2).map { number in
                    start {
                        for _ in 0..<(number == 0 ? 2 : 1) {
                            switch port.offer(sent, waiting: true) {
                            case .accepted: accepted.value += 1
                            case .closed, .full: refused.value += 1
                            case .waits(let sender):
                                waiting.value.append(sender)
                                if withdraws { port.withdraw(sender) }
                            }
                        }
                    }
                }
                act(port, loop)
                for sender in senders { System.join(sender) }
                port.invalidate()
                for sender in waiting.value {
                    switch sender.result {
                    case nil: require(false, "A sender learns nothing of its message.")
                    case .success: accepted.value += 1
                    case .failure: refused.value += 1
                    }
                }
                require(accepted.value + refused.value == 3, "\(accepted.value) accepted, \(refused.value) refused.")
                require(captured.value + (taken?.value ?? 0) <= accepted.value, "A refused message was handled.")
                if !withdraws, taken == nil {
                    require(captured.value == accepted.value, "\(captured.value) of \(accepted.value) were handled.")
                }
            }
        }
    }
#endif
