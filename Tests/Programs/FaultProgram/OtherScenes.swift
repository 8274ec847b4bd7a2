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

    /// Starts a program of the system's, without the library.
    private func startChild(_ program: String) -> pid_t {
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
        defer { free(arguments[0]) }
        var child: pid_t = 0
        precondition(posix_spawn(&child, program, nil, nil, &arguments, environ) == 0)
        return child
    }

    let processScenes: [Scene] = [
        Scene("process") { stage in
            let child = startChild("/bin/true")
            try stage.withThread { thread in
                let source = stage.track(
                    try Loop.ProcessSource(child) { _, exit in
                        if exit == .unknown { stage.answer("an exit of unknown status") }
                        stage.note("exit")
                    })
                thread.loop.add(source, in: .default)
                defer { source.invalidate() }
                try stage.wait(for: "exit")
            }
            waitpid(child, nil, 0)
        },
        Scene("child process") { stage in
            try stage.withThread { thread in
                let child = stage.track(
                    try Loop.ChildProcess("/bin/true", output: .null, error: .null) { _, exit in
                        if exit == .unknown { stage.answer("an exit of unknown status") }
                        stage.note("exit")
                    })
                thread.loop.add(child, in: .default)
                defer { child.invalidate() }
                try stage.wait(for: "exit")
            }
        },
        Scene("ended child") { stage in
            try stage.withThread { thread in
                let child = stage.track(
                    try Loop.ChildProcess("/bin/sleep", ["1000"], output: .null, error: .null) { _, exit in
                        if exit == .unknown { stage.answer("an exit of unknown status") }
                        stage.note("exit")
                    })
                defer { child.invalidate() }
                thread.loop.add(child, in: .default)
                guard child.end(within: .milliseconds(1)) else {
                    stage.answer("a child that seems reaped is not ended")
                    kill(child.process, SIGKILL)
                    return
                }
                try stage.wait(for: "exit")
            }
        },
        Scene("folder") { stage in
            for path in ["folder", "folder/inner"] { mkdir(path, 0o700) }
            try stage.withThread { thread in
                let source = stage.track(
                    try Loop.FolderSource("folder", options: .subfolders) { _, events in
                        for event in events {
                            switch event {
                            case .created(let entry): stage.note("created \(entry)")
                            case .lookAgain: stage.noteAll(["created a", "created inner/b"])
                            default: break
                            }
                        }
                    })
                defer { source.invalidate() }
                if source.watchCount < 2 { return stage.answer("a subfolder is not watched") }
                thread.loop.add(source, in: .default)
                for path in ["folder/a", "folder/inner/b"] { close(open(path, O_CREAT | O_WRONLY, 0o600)) }
                try stage.wait(for: "created a")
                try stage.wait(for: "created inner/b")
            }
        },
    ]

    let otherScenes: [Scene] = [
        Scene("hosting") { stage in
            let loop = Loop.current
            stage.armed {
                let descriptor: Int32
                do {
                    descriptor = try loop.hosting.begin(in: .default)
                } catch {
                    stage.answer(error)
                    stage.plan.end()
                    descriptor = try loop.hosting.begin(in: .default)
                }
                loop.add(stage.track(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") }))
                loop.perform { stage.note("block") }
                var passes = 0
                while stage.count(of: "timer") + stage.count(of: "block") < 2 {
                    if loop.hosting.willSleep() {
                        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                        poll(&request, 1, loop.hosting.timeout == nil ? -1 : 1)
                    }
                    loop.hosting.didWake()
                    _ = loop.hosting.pass()
                    passes += 1
                }
                if passes > 1000 { stage.answer("\(passes) passes") }
                for what in ["timer", "block"] { try stage.wait(for: what) }
                loop.hosting.end()
            }
        },
        Scene("sequences") { stage in
            let pipe = Pair.pipe()
            defer { pipe.close() }
            try stage.withThread { thread in
                let (port, sends) = try Loop.PortSource.makeSends(on: thread.loop)
                let (source, reports) = try Loop.FileDescriptorSource.makeReports(of: pipe.reader, on: thread.loop)
                Task { [plan = stage.plan] in
                    plan.arm()
                    for await _ in sends {
                        stage.note("sends")
                        break
                    }
                    for await _ in reports {
                        stage.note("reports")
                        break
                    }
                    for await _ in thread.loop.ticks(every: .milliseconds(1)) {
                        stage.note("tick")
                        break
                    }
                    stage.note("end of the task")
                }
                _ = (stage.track(port), stage.track(source))
                port.send()
                writeByte(pipe.writer)
                for what in ["sends", "reports", "tick", "end of the task"] { try stage.wait(for: what) }
            }
        },
        Scene("jobs") { stage in
            try stage.withThread { thread in
                Task(executorPreference: thread.loop.taskExecutor) {
                    stage.note("job")
                    await Task.yield()
                    stage.note("job")
                }
                try stage.wait(for: "job", 2)
            }
        },
        Scene("job of an ended loop") { stage in
            let thread = try LoopThread()
            let executor = thread.loop.taskExecutor
            thread.stop()
            thread.join()
            stage.armed {
                Task(executorPreference: executor) { stage.note("job") }
                try stage.wait(for: "job")
            }
        },
        Scene("limiters") { stage in
            try stage.withThread { thread in
                // On a slow machine, the first call is not replaced by the second, but acts itself.
                let search = stage.track(
                    Debounce<Int>(interval: .milliseconds(1), on: thread.loop) { call in
                        if call == 2 { stage.note("debounced") }
                    })
                _ = search(1)
                _ = search(2)
                try stage.wait(for: "debounced")
                let scroll = stage.track(
                    Throttle<Int>(interval: .milliseconds(1), edges: [.leading, .trailing], on: thread.loop) { _ in
                        stage.note("throttled")
                    })
                _ = scroll(1)
                _ = scroll(2)
                try stage.wait(for: "throttled", 2)
            }
        },
        Scene("diagnostics") { stage in
            try stage.withThread { thread in
                let tracer = stage.track(LoopTracer(capacity: 64))
                tracer.attach(to: thread.loop)
                let timer = stage.track(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") })
                thread.loop.add(timer)
                _ = "\(thread.loop.explain(timer))"
                try stage.wait(for: "timer")
                _ = Loop.dump
                _ = "\(tracer.snapshot())"
                tracer.detach()
            }
        },
        Scene("stall monitor") { stage in
            try stage.withThread { thread in
                let monitor = stage.track(try StallMonitor { _ in })
                monitor.watch(thread)
                try thread.performAndWait { stage.note("block") }
                try stage.wait(for: "block")
                _ = monitor.metrics(of: thread.loop)
            }
        },
    ]
#endif
