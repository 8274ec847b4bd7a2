#if DEBUG
    import RunLoopDiagnostics
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    let scenes: [Scene] =
        threadScenes + timerScenes + inputScenes + streamScenes + processScenes + mainScenes + otherScenes

    let threadScenes: [Scene] = [
        Scene("thread") { stage in
            stage.armed {
                let thread = stage.track(try LoopThread(name: "armed"))
                thread.perform { stage.note("block") }
                try thread.performAndWait { stage.note("block") }
                try stage.wait(for: "block", 2)
                thread.stop()
                thread.join()
            }
        },
        Scene("options") { stage in
            stage.armed {
                let options = LoopThread.Options(
                    name: "options", stackSize: 256 * 1024, nice: 5, cpus: [0], scheduling: .batch,
                    timerSlack: .microseconds(10))
                let thread = stage.track(try LoopThread(options: options))
                try thread.performAndWait { stage.note("block") }
                try stage.wait(for: "block")
                thread.stop()
                thread.join()
            }
        },
        Scene("pool") { stage in
            stage.armed {
                let pool = stage.track(try LoopThreadPool(count: 2))
                for _ in 0..<6 { pool.perform { stage.note("job") } }
                pool.drainAndWait()
                try stage.wait(for: "job", 6)
                pool.stop()
                pool.join()
            }
        },
        Scene("perform") { stage in
            try stage.withThread { thread in
                for _ in 0..<3 { thread.perform { stage.note("block") } }
                try stage.wait(for: "block", 3)
                try thread.performAndWait { stage.note("block waited for") }
                try stage.wait(for: "block waited for")
                // From the thread itself, and from asleep.
                thread.perform { thread.perform { stage.note("block of a block") } }
                try stage.wait(for: "block of a block")
            }
        },
        Scene("first run") { stage in
            // Of the initial thread, whose loop has no descriptor yet.
            stage.armed {
                Loop.current.perform { stage.note("block") }
                Loop.current.run(mode: .default, for: .milliseconds(1))
                try stage.wait(for: "block")
            }
        },
        Scene("prepare") { stage in
            stage.armed {
                do {
                    try Loop.current.prepare("prepared")
                    try Loop.current.prepare("prepared")
                } catch {
                    stage.answer(error)
                    stage.plan.end()
                    try Loop.current.prepare("prepared")
                }
                Loop.current.perform(in: "prepared") { stage.note("block") }
                Loop.current.run(mode: "prepared", for: .zero)
                try stage.wait(for: "block")
            }
        },
        Scene("nested run") { stage in
            try stage.withThread { thread in
                let timer = stage.track(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer inside") })
                thread.perform {
                    Loop.current.add(timer, in: "inner")
                    Loop.current.run(mode: "inner", for: .milliseconds(2))
                    stage.note("outer block")
                }
                try stage.wait(for: "timer inside")
                try stage.wait(for: "outer block")
                thread.perform { Loop.current.run(for: .milliseconds(1)) }
                try thread.performAndWait { stage.note("block afterwards") }
                try stage.wait(for: "block afterwards")
            }
        },
        Scene("end") { stage in
            stage.armed {
                let thread = stage.track(try LoopThread(name: "ends"))
                let loop = thread.loop
                let source = Loop.Source0(cancel: { _, _ in stage.note("left") }, perform: {})
                loop.add(stage.track(source))
                _ = loop.onEnd { stage.note("end") }
                thread.stop()
                thread.join()
                try stage.wait(for: "left")
                try stage.wait(for: "end")
                if loop.perform({}) { stage.answer("an ended loop takes a block") }
            }
        },
    ]

    let timerScenes: [Scene] = [
        Scene("timer") { stage in
            try stage.withThread { thread in
                thread.loop.add(stage.track(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") }))
                try stage.wait(for: "timer")
            }
        },
        Scene("repeating timer") { stage in
            try stage.withThread { thread in
                let timer = stage.track(
                    Loop.Timer(every: .milliseconds(1), tolerance: .milliseconds(1)) { firing in
                        stage.note("firing")
                        if stage.count(of: "firing") == 3 { firing.timer.invalidate() }
                    })
                thread.loop.add(timer)
                try stage.wait(for: "firing", 3)
            }
        },
        Scene("timer set again") { stage in
            try stage.withThread { thread in
                let timer = stage.track(Loop.Timer(after: .seconds(1000)) { _ in stage.note("timer") })
                thread.loop.add(timer)
                try thread.performAndWait {}
                // From another thread, while the loop sleeps.
                timer.nextFireTime = thread.loop.now
                try stage.wait(for: "timer")
                let again = stage.track(Loop.Timer(restartableAfter: .milliseconds(1)) { _ in stage.note("again") })
                thread.loop.add(again)
                try stage.wait(for: "again")
                try thread.performAndWait { again.nextFireTime = thread.loop.now }
                try stage.wait(for: "again", 2)
                again.invalidate()
            }
        },
        Scene("other clocks") { stage in
            try stage.withThread { thread in
                for base in [Loop.TimeBase.continuous, .wallClock] {
                    let timer = Loop.Timer(after: .milliseconds(1), timeBase: base) { _ in stage.note("\(base)") }
                    thread.loop.add(stage.track(timer))
                }
                try stage.wait(for: "continuous")
                try stage.wait(for: "wallClock")
            }
        },
        Scene("precise timer") { stage in
            try stage.withThread { thread in
                let timer = stage.track(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") })
                timer.isPrecise = true
                thread.loop.add(timer)
                try stage.wait(for: "timer")
            }
        },
        Scene("virtual time") { stage in
            try stage.withThread(clock: VirtualClock()) { thread in
                let timer = stage.track(
                    Loop.Timer(every: .seconds(3600)) { firing in
                        stage.note("hour")
                        if stage.count(of: "hour") == 3 { firing.timer.invalidate() }
                    })
                thread.loop.add(timer)
                try stage.wait(for: "hour", 3)
            }
        },
    ]

    let inputScenes: [Scene] = [
        Scene("source") { stage in
            try stage.withThread { thread in
                let source = stage.track(
                    Loop.Source0(
                        schedule: { _, _ in stage.note("scheduled") }, cancel: { _, _ in stage.note("cancelled") },
                        perform: { stage.note("source") }))
                thread.loop.add(source, in: .common)
                source.signal()
                try stage.wait(for: "source")
                source.invalidate()
                try stage.wait(for: "scheduled")
                try stage.wait(for: "cancelled")
            }
        },
        Scene("port") { stage in
            try stage.withThread { thread in
                let port = stage.track(try Loop.PortSource { _ in stage.note("port") })
                thread.loop.add(port, in: .default)
                port.send()
                try stage.wait(for: "port")
                try thread.performAndWait { Loop.current.add(port, in: "other") }
                port.send()
                try stage.wait(for: "port", 2)
                port.invalidate()
            }
        },
        Scene("message port") { stage in
            try stage.withThread { thread in
                let port = stage.track(Loop.MessagePort<Int>(capacity: 2) { _ in stage.note("message") })
                thread.loop.add(port, in: .default)
                port.send(1)
                try stage.wait(for: "message")
                try thread.performAndWait { for message in 1...3 { port.send(message) } }
                try stage.wait(for: "message", 3)
                port.invalidate()
            }
        },
        Scene("descriptor") { stage in
            let pipe = Pair.pipe()
            defer { pipe.close() }
            try stage.withThread { thread in
                let source = stage.track(try sourceOfBytes(pipe.reader, stage))
                thread.loop.add(source, in: .default)
                for count in 1...2 {
                    writeByte(pipe.writer)
                    try stage.wait(for: "readable", count)
                }
                source.invalidate()
            }
        },
        Scene("two edges") { stage in
            // Both are ready at once: the kernel is asked again about the second, whose edge does not come again.
            let pipes = [Pair.pipe(), Pair.pipe()]
            defer { for pipe in pipes { pipe.close() } }
            try stage.withThread { thread in
                let sources = try pipes.map { stage.track(try sourceOfBytes($0.reader, stage, trigger: .edge)) }
                try thread.performAndWait {
                    for source in sources { Loop.current.add(source, in: .default) }
                    for pipe in pipes { writeByte(pipe.writer) }
                }
                try stage.wait(for: "readable", 2)
                for source in sources { source.invalidate() }
            }
        },
        Scene("owned descriptor") { stage in
            let pair = Pair.sockets()
            defer { close(pair.writer) }
            // A source that was not made, or is in no loop, leaves its descriptor to its maker.
            var reader = pair.reader
            defer { if reader >= 0 { close(reader) } }
            try stage.withThread { thread in
                let source = stage.track(
                    try Loop.FileDescriptorSource(owning: pair.reader, trigger: .edge) { source, _ in
                        consumeByte(source.descriptor)
                        stage.note("readable")
                    })
                reader = -1
                thread.loop.add(source, in: .default)
                writeByte(pair.writer)
                try stage.wait(for: "readable")
                source.disarm()
                source.interest = [.read, .readHangUp]
                source.rearm()
                writeByte(pair.writer)
                try stage.wait(for: "readable", 2)
                source.invalidate()
            }
        },
        Scene("terminal") { stage in
            // Neither a socket nor a pipe: whether the kernel can watch it, a test says.
            let master = open("/dev/ptmx", O_RDWR | O_CLOEXEC)
            defer { close(master) }
            try stage.withThread { thread in
                let source = stage.track(
                    try Loop.FileDescriptorSource(master, interest: .write, isOneShot: true) { _, _ in
                        stage.note("writable")
                    })
                thread.loop.add(source, in: .default)
                try stage.wait(for: "writable")
                source.invalidate()
            }
        },
        Scene("two modes") { stage in
            let pipe = Pair.pipe()
            defer { pipe.close() }
            try stage.withThread { thread in
                let source = stage.track(try sourceOfBytes(pipe.reader, stage))
                try thread.performAndWait {
                    for mode in [Loop.Mode.default, "one", "two"] { Loop.current.add(source, in: mode) }
                    Loop.current.run(mode: "one", for: .zero)
                    writeByte(pipe.writer)
                    Loop.current.run(mode: "two", for: .zero)
                }
                try stage.wait(for: "readable")
                writeByte(pipe.writer)
                try stage.wait(for: "readable", 2)
                source.invalidate()
            }
        },
        Scene("two signals") { stage in
            // As two edges, in two passes that an observer sees.
            try stage.withThread { thread in
                let numbers = [SIGUSR1, SIGUSR2]
                let sources = try numbers.map { number in
                    stage.track(try Loop.SignalSource(number) { _, _ in stage.note("signal") })
                }
                try thread.performAndWait {
                    Loop.current.add(stage.track(Loop.Observer(.beforeTimers) { _, _ in }), in: .default)
                    for source in sources { Loop.current.add(source, in: .default) }
                    for number in numbers { raise(number) }
                }
                try stage.wait(for: "signal", 2)
                for source in sources { source.invalidate() }
            }
        },
        Scene("signal") { stage in
            try stage.withThread { thread in
                let source = stage.track(try Loop.SignalSource(SIGUSR1) { _, _ in stage.note("signal") })
                thread.loop.add(source, in: .default)
                kill(getpid(), SIGUSR1)
                try stage.wait(for: "signal")
                source.invalidate()
            }
        },
    ]
#endif
