import CLinux
import Foundation
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CLibEvent)
    import CLibEvent
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// A byte is written to a pipe on the loop's own thread, and a pass calls the handler that reads it.
struct PipeBesidePeers: Scenario {
    let name = "pipe-event"
    let summary = "A byte is written to a pipe, and a pass calls the handler that reads it."

    func run(_ effort: Effort) throws -> Outcome {
        var subjects: [any OperationSubject] = [
            try ThreadOperation("pipe, level + read") {
                let pipe = try BytePipe()
                let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
                watch(pipe.output, by: poll, CLINUX_EPOLLIN)
                return pipe.body {
                    waitForOne(poll)
                    pipe.receive()
                }
            },
            try Operation.named("pipe-and-run").onThread(Outcome.kit),
        ]
        #if canImport(CLibUV)
            subjects.append(
                try ThreadOperation("libuv") {
                    let (pipe, loop) = (try BytePipe(), UVLoop {})
                    let watcher = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
                    uv_poll_init(loop.loop, watcher, pipe.output)
                    watcher.pointee.data = Unmanaged.passRetained(pipe).toOpaque()
                    uv_poll_start(watcher, Int32(UV_READABLE.rawValue)) { watcher, _, _ in
                        Unmanaged<BytePipe>.fromOpaque(watcher!.pointee.data).takeUnretainedValue().receive()
                    }
                    return pipe.body { loop.run(UV_RUN_NOWAIT) }
                })
        #endif
        #if canImport(CLibEvent)
            subjects.append(
                try ThreadOperation("libevent") {
                    let (pipe, base) = (try BytePipe(), EventBase())
                    let watcher = event_new(
                        base.base, pipe.output, Int16(EV_READ | EV_PERSIST),
                        { Unmanaged<BytePipe>.fromOpaque($2!).takeUnretainedValue().receive() },
                        Unmanaged.passRetained(pipe).toOpaque())
                    event_add(watcher, nil)
                    return pipe.body { base.run(EVLOOP_NONBLOCK) }
                })
        #endif
        #if canImport(CGLib)
            subjects.append(
                try ThreadOperation("GLib") {
                    let (pipe, context) = (try BytePipe(), g_main_context_new())
                    let source = g_unix_fd_source_new(pipe.output, G_IO_IN)
                    let receive: @convention(c) (gint, GIOCondition, gpointer?) -> gboolean = {
                        Unmanaged<BytePipe>.fromOpaque($2!).takeUnretainedValue().receive()
                        return 1
                    }
                    g_source_set_callback(
                        source, unsafeBitCast(receive, to: GSourceFunc.self), Unmanaged.passRetained(pipe).toOpaque(),
                        nil)
                    g_source_attach(source, context)
                    return pipe.body { g_main_context_iteration(context, 0) }
                })
        #endif
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) bytes and passes",
            rows: subjects.measured(name, effort), bare: "pipe, level + read")
    }
}

extension BytePipe {
    /// Sends a byte, and lets a pass receive it.
    fileprivate func body(_ pass: @escaping () -> Void) -> ThreadOperation.Body {
        { count in
            for _ in 0..<count {
                self.send()
                pass()
            }
        }
    }
}
