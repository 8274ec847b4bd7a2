#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Version-0 sources, observers and blocks that are taken away while they are due.
    let sourcePrograms: [Program] = [
        Program("a source is signalled, and moves to another mode") { play in
            play.moves { source, loop, other in
                loop.remove(source, in: .default)
                loop.add(source, in: "other")
            }
        },
        Program("a source is signalled, and moves to another loop") { play in
            play.moves { source, loop, other in
                loop.remove(source, in: .default)
                other.add(source, in: .default)
            }
        },
        Program("a source is signalled, and is in two loops") { play in
            play.moves { source, loop, other in
                other.add(source, in: .default)
                loop.remove(source, in: .default)
            }
        },
        Program("a source is signalled, and gets a handler") { play in
            play.thread {
                let source = Loop.Source0()
                play.handlesOnce(source, handOver: { source.signal() }) { act in source.setHandler { act(1) } }
            }
        },
        Program("a source is told of its modes, and invalidated by two threads") { play in
            play.thread {
                let loop = Loop.current
                let (joins, leaves) = (play.capture(), play.capture())
                let source = Loop.Source0(
                    schedule: { _, _ in joins.value += 1 }, cancel: { _, _ in leaves.value += 1 }
                ) {}
                loop.add(source, in: .default)
                let threads = [
                    start { loop.add(source, in: "other") }, start { source.invalidate() },
                    start { loop.remove(source, in: .default) },
                ]
                for thread in threads { System.join(thread) }
                play.require(joins.value == leaves.value, "Joined \(joins.value), left \(leaves.value) times.")
            }
        },
        Program("an observer that two loops want") { play in
            play.thread {
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = play.capture()
                let observer = Loop.Observer(.beforeTimers, repeats: false) { _, _ in captured.value += 1 }
                let adder = start { other.loop.add(observer, in: .default) }
                let port = try! Loop.PortSource { _ in }
                loop.add(observer, in: .default)
                loop.add(port, in: .default)
                loop.run(mode: .default, for: .milliseconds(1))
                System.join(adder)
                other.perform {}
                other.stop()
                other.join()
                port.invalidate()
                // The other thread may have had it, and ended before its pass.
                play.require(captured.value <= 1, "It was called \(captured.value) times.")
            }
        },
        Program("an observer is invalidated by another thread") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let isOver = Shared(false)
                let observer = Loop.Observer { observer, _ in
                    captured.value += 1
                    play.require(!isOver.value, "It is called after its end.")
                }
                let port = try! Loop.PortSource { _ in }
                loop.add(observer, in: .default)
                loop.add(port, in: .default)
                let threads = [
                    start { observer.invalidate() }, start { loop.add(observer, in: "other") },
                ]
                loop.run(mode: .default, for: .milliseconds(1))
                for thread in threads { System.join(thread) }
                isOver.value = true
                loop.run(mode: .default, for: .milliseconds(1))
                port.invalidate()
            }
        },
        Program("a block is withdrawn against its run") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let block = loop.performCancellable { captured.value += 1 }
                let withdrawn = Shared(0)
                let threads = (0..<2).map { _ in start { if block!.withdraw() { withdrawn.value += 1 } } }
                loop.run(mode: .default, for: .zero)
                for thread in threads { System.join(thread) }
                loop.run(mode: .default, for: .zero)
                play.require(
                    captured.value + withdrawn.value == 1,
                    "It ran \(captured.value) times, and was withdrawn \(withdrawn.value) times.")
            }
        },
        Program("a delayed block is withdrawn against its run") { play in
            play.thread {
                let loop = Loop.current
                let captured = play.capture()
                let timer = loop.perform(after: .microseconds(50)) { captured.value += 1 }
                let other = start {
                    timer?.invalidate()
                    loop.wakeUp()
                }
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(other)
                play.require(result == .finished && captured.value <= 1, "It ran \(captured.value) times: \(result).")
            }
        },
    ]

    extension Play {
        /// A source is signalled once, and performed once, wherever it is then.
        fileprivate func moves(_ move: @escaping @Sendable (Loop.Source0, Loop, Loop) -> Void) {
            thread { [self] in
                let other = try! LoopThread(name: "scheduled")
                let loop = Loop.current
                let captured = capture()
                let source = Loop.Source0 { captured.value += 1 }
                loop.add(source, in: .default)
                let threads = [start { source.signal() }, start { move(source, loop, other.loop) }]
                loop.run(mode: .default, for: .milliseconds(1))
                for thread in threads { System.join(thread) }
                loop.run(mode: "other", for: .milliseconds(1))
                let begin = System.monotonicNanoseconds()
                while captured.value < 1, System.monotonicNanoseconds() - begin < 100_000_000 { letOthersSleep() }
                require(captured.value == 1, "It was performed \(captured.value) times.")
                source.invalidate()
                other.stop()
                other.join()
            }
        }
    }

    extension Play {
        /// A thread hands something over to an item, while another sets the handler, which is called once.
        func handlesOnce(
            _ item: Loop.Item, handOver: @escaping @Sendable () -> Void,
            setHandler: @escaping @Sendable (@escaping @Sendable (Int) -> Void) -> Void
        ) {
            let loop = Loop.current
            let captured = capture()
            let threads = [
                start(handOver),
                start {
                    setHandler { count in
                        captured.value += count
                        loop.stop()
                    }
                },
            ]
            loop.add(item, in: .default)
            let result = loop.run(mode: .default, for: .seconds(1000))
            for thread in threads { System.join(thread) }
            require(result == .stopped && captured.value == 1, "What was handed over is not handled.")
            item.invalidate()
        }
    }
#endif
