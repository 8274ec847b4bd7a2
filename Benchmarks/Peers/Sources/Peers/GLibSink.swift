#if canImport(CGLib)
    import CGLib
    import Foundation

    /// A source for each block, as `g_idle_add` makes it, in a context of its own.
    final class GLibSink: Sink, @unchecked Sendable {
        let name = "GLib"
        private let context = g_main_context_new()

        private final class Body {
            let block: @Sendable () -> Void
            init(_ block: @escaping @Sendable () -> Void) { self.block = block }
        }

        init() {
            _ = PlainThread { [self] in while true { g_main_context_iteration(context, 1) } }
        }

        func post(_ block: @escaping @Sendable () -> Void) { GLibSink.attach(block, to: context) }

        static func attach(_ block: @escaping @Sendable () -> Void, to context: OpaquePointer?) {
            let source = g_idle_source_new()
            g_source_set_priority(source, G_PRIORITY_DEFAULT)
            g_source_set_callback(
                source,
                {
                    Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().block()
                    return 0
                }, Unmanaged.passRetained(Body(block)).toOpaque(), nil)
            g_source_attach(source, context)
            g_source_unref(source)
        }
    }
#endif
