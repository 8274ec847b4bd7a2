#if canImport(CGLib)
    import CGLib
    import Foundation
    import RunLoopKit
    import RunLoopKitGLib

    /// A loop that GLib hosts, on the thread that makes it.
    private struct HostedLoop {
        let context = g_main_context_new()
        let loop = Loop.current
        private let attachment: GLibAttachment

        init() { attachment = try! loop.attach(to: GLibContext(context!)) }
    }

    /// A loop whose descriptor GLib watches as any other, without the calls that say when the host sleeps.
    private struct HostedByDescriptor {
        let context = g_main_context_new()
        let loop = Loop.current

        init() {
            let source = g_unix_fd_source_new(try! loop.hosting.begin(), G_IO_IN)
            let pass: @convention(c) (gint, GIOCondition, gpointer?) -> gboolean = { _, _, _ in
                Loop.current.hosting.pass()
                return 1
            }
            g_source_set_callback(source, unsafeBitCast(pass, to: GSourceFunc.self), nil, nil)
            g_source_attach(source, context)
            loop.hosting.pass()
        }
    }

    /// A block that GLib's thread posts to a hosted loop, beside a source that it attaches to GLib's own context.
    struct HostedPost: Scenario {
        let name = "hosted-post"
        let summary = "A block posted under GLib by GLib's own thread, and the iteration that runs it."

        func run(_ effort: Effort) throws -> Outcome {
            let subjects: [any OperationSubject] = [
                try ThreadOperation("GLib") {
                    let context = g_main_context_new()
                    return { count in
                        for _ in 0..<count {
                            GLibSink.attach({}, to: context)
                            g_main_context_iteration(context, 0)
                        }
                    }
                },
                try ThreadOperation(Outcome.kit) {
                    let host = HostedLoop()
                    return { count in
                        for _ in 0..<count {
                            host.loop.perform {}
                            g_main_context_iteration(host.context, 0)
                        }
                    }
                },
                try ThreadOperation("RunLoopKit, by descriptor") {
                    let host = HostedByDescriptor()
                    return { count in
                        for _ in 0..<count {
                            host.loop.perform {}
                            g_main_context_iteration(host.context, 0)
                        }
                    }
                },
                try ThreadOperation("GLib, nothing to do") {
                    let context = g_main_context_new()
                    return { count in for _ in 0..<count { g_main_context_iteration(context, 0) } }
                },
                try ThreadOperation("RunLoopKit, nothing to do") {
                    let host = HostedLoop()
                    return { count in for _ in 0..<count { g_main_context_iteration(host.context, 0) } }
                },
            ]
            return Outcome(
                scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) blocks",
                rows: subjects.measured(name, effort), bare: "GLib",
                notes: [
                    "nothing to do: an iteration that finds nothing ready.",
                    "by descriptor: GLib watches the loop's descriptor, and makes a pass when it is readable.",
                ])
        }
    }

    /// Two threads with GLib's loop post to each other in turn: to hosted loops, and to GLib's own contexts.
    struct HostedRoundTrip: Scenario {
        let name = "hosted-round-trip"
        let summary = "Two threads that GLib runs post to each other in turn."

        func run(_ effort: Effort) throws -> Outcome {
            let subjects: [any OperationSubject] = [
                RoundTrip(GLibSink(), GLibSink()), RoundTrip(HostedSink(Outcome.kit), HostedSink(Outcome.kit)),
            ]
            return Outcome(
                scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) round trips",
                rows: subjects.measured(name, effort), bare: "GLib")
        }
    }

    /// A thread that GLib runs, with a hosted loop.
    final class HostedSink: Sink, @unchecked Sendable {
        let name: String
        private var loop: Loop!

        init(_ name: String) {
            self.name = name
            let isReady = DispatchSemaphore(value: 0)
            _ = PlainThread { [self] in
                let host = HostedLoop()
                loop = host.loop
                isReady.signal()
                while true { g_main_context_iteration(host.context, 1) }
            }
            isReady.wait()
        }

        func post(_ block: @escaping @Sendable () -> Void) { loop.perform(block) }
    }
#endif
