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

/// The peers that watch descriptors. SwiftNIO has channels instead, see `EchoServer`.
enum ReadyOfPeers {
    static func all(total: Int) -> [(name: String, make: ReadyDescriptors.MakeWatcher)] {
        var watchers: [(name: String, make: ReadyDescriptors.MakeWatcher)] = []
        #if canImport(CLibUV)
            watchers.append(("libuv", { UVWatcher($0) }))
        #endif
        #if canImport(CLibEvent)
            watchers.append(("libevent", { EventWatcher($0) }))
        #endif
        #if canImport(CGLib)
            // It asks with poll, which looks at all.
            if total <= 1_000 { watchers.append(("GLib", { GLibWatcher($0) })) }
        #endif
        return watchers
    }
}

#if canImport(CLibUV)
    private final class UVWatcher: ReadyWatcher {
        private let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        private let polls: UnsafeMutablePointer<uv_poll_t>
        private let count: Int
        private var left = 0

        init(_ descriptors: [Int32]) {
            count = descriptors.count
            polls = .allocate(capacity: count)
            check("uv_loop_init", uv_loop_init(loop))
            for (index, descriptor) in descriptors.enumerated() {
                check("uv_poll_init", uv_poll_init(loop, polls + index, descriptor))
                polls[index].data = Unmanaged.passUnretained(self).toOpaque()
                uv_poll_start(polls + index, Int32(UV_READABLE.rawValue)) { poll, _, _ in
                    Unmanaged<UVWatcher>.fromOpaque(poll!.pointee.data).takeUnretainedValue().handle(poll!)
                }
            }
        }

        private func handle(_ poll: UnsafeMutablePointer<uv_poll_t>) {
            var descriptor: Int32 = -1
            poll.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { _ = uv_fileno($0, &descriptor) }
            drain(descriptor)
            left -= 1
            if left == 0 { uv_stop(loop) }
        }

        func serve(_ count: Int) {
            left = count
            uv_run(loop, UV_RUN_DEFAULT)
        }

        func end() -> Bool {
            for index in 0..<count {
                (polls + index).withMemoryRebound(to: uv_handle_t.self, capacity: 1) { uv_close($0, nil) }
            }
            uv_run(loop, UV_RUN_DEFAULT)
            check("uv_loop_close", uv_loop_close(loop))
            polls.deallocate()
            loop.deallocate()
            return false
        }
    }
#endif

#if canImport(CLibEvent)
    private final class EventWatcher: ReadyWatcher {
        private let base = event_base_new()
        private var events: [UnsafeMutablePointer<event>?] = []
        private var left = 0

        init(_ descriptors: [Int32]) {
            events = descriptors.map { descriptor in
                event_new(
                    base, descriptor, Int16(EV_READ | EV_PERSIST),
                    { descriptor, _, watcher in
                        Unmanaged<EventWatcher>.fromOpaque(watcher!).takeUnretainedValue().handle(descriptor)
                    }, Unmanaged.passUnretained(self).toOpaque())
            }
            for event in events { event_add(event, nil) }
        }

        private func handle(_ descriptor: Int32) {
            drain(descriptor)
            left -= 1
            if left == 0 { event_base_loopbreak(base) }
        }

        func serve(_ count: Int) {
            left = count
            event_base_loop(base, 0)
        }

        func end() -> Bool {
            for event in events { event_free(event) }
            event_base_free(base)
            return false
        }
    }
#endif

#if canImport(CGLib)
    private final class GLibWatcher: ReadyWatcher {
        private let context = g_main_context_new()
        private var sources: [UnsafeMutablePointer<GSource>?] = []
        private var left = 0

        init(_ descriptors: [Int32]) {
            let handler: @convention(c) (gint, GIOCondition, gpointer?) -> gboolean = { descriptor, _, watcher in
                drain(descriptor)
                Unmanaged<GLibWatcher>.fromOpaque(watcher!).takeUnretainedValue().left -= 1
                return 1
            }
            sources = descriptors.map { descriptor in
                let source = g_unix_fd_source_new(descriptor, G_IO_IN)
                g_source_set_callback(
                    source, unsafeBitCast(handler, to: GSourceFunc.self), Unmanaged.passUnretained(self).toOpaque(), nil
                )
                g_source_attach(source, context)
                return source
            }
        }

        func serve(_ count: Int) {
            left = count
            while left > 0 { g_main_context_iteration(context, 1) }
        }

        func end() -> Bool {
            for source in sources {
                g_source_destroy(source)
                g_source_unref(source)
            }
            g_main_context_unref(context)
            return false
        }
    }
#endif
