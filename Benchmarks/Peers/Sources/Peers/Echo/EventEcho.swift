#if canImport(CLibEvent)
    import CLibEvent
    import Foundation

    /// An event for each connection, which its callback frees at the end.
    enum EventEcho {
        static func start(_ listening: Int32) {
            let base = EventBase()
            let server = event_new(
                base.base, listening, Int16(EV_READ | EV_PERSIST),
                { listening, _, base in
                    while let connection = EchoSocket.accept(listening) {
                        EventEcho.serve(connection, OpaquePointer(base!))
                    }
                }, UnsafeMutableRawPointer(base.base))
            event_add(server, nil)
            _ = PlainThread { base.run(0) }
        }

        private static func serve(_ connection: Int32, _ base: OpaquePointer) {
            let own = UnsafeMutablePointer<event>.allocate(capacity: 1)
            event_assign(
                own, base, connection, Int16(EV_READ | EV_PERSIST),
                { connection, _, own in
                    guard !EchoSocket.echo(connection) else { return }
                    event_del(own!.assumingMemoryBound(to: event.self))
                    own!.deallocate()
                    close(connection)
                }, own)
            event_add(own, nil)
        }
    }
#endif
