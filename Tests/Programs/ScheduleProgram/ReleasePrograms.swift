#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopDiagnostics
    @testable import RunLoopKit

    /// A loop loses its last reference, while another thread uses what refers to the loop without retaining it.
    let releasePrograms: [Program] = [
        .release("its end handler is cancelled") { loop in
            let handler = loop.onEnd {}
            return { handler?.cancel() }
        },
        .release("its block is withdrawn") { loop in
            let block = loop.performCancellable {}
            return { _ = block?.withdraw() }
        },
        .release("its box is released") { loop in
            let box = Shared<LoopBound<[Int]>?>(LoopBound([1], on: loop))
            return { box.value = nil }
        },
        .release("its timer gets another fire time, and is invalidated") { loop in
            let timer = Loop.Timer(after: .seconds(1)) { _ in }
            loop.add(timer)
            return {
                timer.nextFireTime = .distantFuture
                timer.invalidate()
            }
        },
        .release("its source is signalled, described and invalidated") { loop in
            let source = Loop.Source0 {}
            loop.add(source, in: .common)
            return {
                source.signal()
                _ = "\(source)"
                source.invalidate()
            }
        },
        .release("its port is sent to, and invalidated") { loop in
            let port = try! Loop.PortSource { _ in }
            loop.add(port)
            return {
                port.send()
                port.invalidate()
            }
        },
        .release("all loops are listed, and described") { _ in
            { _ = Loop.dump }
        },
        .release("its limiter is called, cancelled and released") { loop in
            let debounce = Shared<Debounce<Int>?>(Debounce(interval: .seconds(1), on: loop) { _ in })
            return {
                debounce.value?(1)
                debounce.value?.cancel()
                debounce.value = nil
            }
        },
        .release("a stall monitor looks, watches another one and ends") { loop in
            let watcher = StallWatcher(.forPlays, now: { 0 }) { _ in }
            _ = watcher.watch(loop, name: "loop")
            return {
                _ = watcher.check(at: 1)
                _ = watcher.metrics(of: Loop(clock: VirtualClock()))
                watcher.unwatchAll()
            }
        },
        .release("its tracer traces another one") { loop in
            let tracer = LoopTracer()
            tracer.attach(to: loop)
            return {
                let other = Loop(clock: VirtualClock())
                tracer.attach(to: other)
                tracer.detach(from: other)
                tracer.detach()
            }
        },
    ]

    extension Program {
        /// - Parameter prepare: Gets the loop. Returns what the other thread does.
        fileprivate static func release(
            _ what: String, _ prepare: @escaping @Sendable (Loop) -> @Sendable () -> Void
        ) -> Program {
            Program("the last reference to a loop is released: \(what)") { play in
                let captured = play.capture()
                let loop = Shared<Loop?>(Loop(clock: VirtualClock()))
                loop.value!.onEnd { captured.value += 1 }
                let act = Shared<(@Sendable () -> Void)?>(prepare(loop.value!))
                play.thread { loop.value = nil }
                play.thread {
                    act.value!()
                    act.value = nil
                }
            }
        }
    }
#endif
