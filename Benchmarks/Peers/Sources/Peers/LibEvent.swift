#if canImport(CLibEvent)
    import CLibEvent
    import Foundation

    /// A libevent base.
    final class EventBase: @unchecked Sendable {
        // Once for the process, before the first base.
        private static let usesThreads = evthread_use_pthreads()

        let base: OpaquePointer
        private var event: UnsafeMutablePointer<event>?
        private var handler: () -> Void = {}

        init() {
            check("evthread_use_pthreads", EventBase.usesThreads)
            base = event_base_new()
        }

        /// An event that calls `handler` whenever it is activated, and keeps the base running.
        func addPersistentEvent(_ handler: @escaping () -> Void) {
            self.handler = handler
            event = event_new(
                base, -1, Int16(EV_PERSIST),
                { Unmanaged<EventBase>.fromOpaque($2!).takeUnretainedValue().handler() },
                Unmanaged.passRetained(self).toOpaque())
            var never = timeval(tv_sec: 86_400, tv_usec: 0)
            check("event_add", event_add(event, &never))
        }

        func run(_ flags: Int32) { event_base_loop(base, flags) }
        func wake() { event_active(event, 0, 0) }
    }

    final class EventSink: Sink {
        let name = "libevent, list"
        private let list = HandMadeList()
        private let base = EventBase()

        init() {
            let base = base
            base.addPersistentEvent { [list] in list.run() }
            _ = PlainThread { base.run(0) }
        }

        func post(_ block: @escaping @Sendable () -> Void) { if list.append(block) { base.wake() } }
    }
#endif
