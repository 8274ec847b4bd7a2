#if canImport(CLibUV)
    import CLibUV
    import Foundation

    /// A stream for each connection. Its memory belongs to the program, which frees it when the stream is closed.
    enum UVEcho {
        private typealias Stream = UnsafeMutablePointer<uv_stream_t>

        private static let buffer = BufferOfThread()

        private final class BufferOfThread: @unchecked Sendable {
            let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: 65_536)
        }

        static func start(_ listening: Int32, _ transport: EchoSocket.Transport) {
            let loop = UVLoop {}
            let server = open(loop.loop, listening, transport)
            check(
                "uv_listen",
                uv_listen(server, 1_024) { server, _ in
                    let connection = UVEcho.make(server!.pointee.loop, server!.pointee.type)
                    check("uv_accept", uv_accept(server, connection))
                    uv_read_start(connection, UVEcho.allocate, UVEcho.echo)
                })
            _ = PlainThread { loop.run(UV_RUN_DEFAULT) }
        }

        private static func open(
            _ loop: UnsafeMutablePointer<uv_loop_t>, _ descriptor: Int32, _ transport: EchoSocket.Transport
        ) -> Stream {
            let stream = make(loop, transport == .tcp ? UV_TCP : UV_NAMED_PIPE)
            UnsafeMutableRawPointer(stream).withMemoryRebound(to: uv_tcp_t.self, capacity: 1) { tcp in
                if transport == .tcp { check("uv_tcp_open", uv_tcp_open(tcp, descriptor)) }
            }
            UnsafeMutableRawPointer(stream).withMemoryRebound(to: uv_pipe_t.self, capacity: 1) { pipe in
                if transport == .unix { check("uv_pipe_open", uv_pipe_open(pipe, descriptor)) }
            }
            return stream
        }

        private static func make(_ loop: UnsafeMutablePointer<uv_loop_t>?, _ type: uv_handle_type) -> Stream {
            if type == UV_TCP {
                let tcp = UnsafeMutablePointer<uv_tcp_t>.allocate(capacity: 1)
                uv_tcp_init(loop, tcp)
                uv_tcp_nodelay(tcp, 1)
                return UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_stream_t.self)
            }
            let pipe = UnsafeMutablePointer<uv_pipe_t>.allocate(capacity: 1)
            uv_pipe_init(loop, pipe, 0)
            return UnsafeMutableRawPointer(pipe).assumingMemoryBound(to: uv_stream_t.self)
        }

        private static let allocate: uv_alloc_cb = { _, _, result in
            result!.pointee = uv_buf_init(UVEcho.buffer.bytes, 4_096)
        }

        private static let echo: uv_read_cb = { stream, count, buffer in
            guard count != 0 else { return }
            guard count > 0 else {
                return UnsafeMutableRawPointer(stream!).withMemoryRebound(to: uv_handle_t.self, capacity: 1) {
                    uv_close($0) { $0!.deallocate() }
                }
            }
            var message = uv_buf_init(buffer!.pointee.base, UInt32(count))
            precondition(uv_try_write(stream, &message, 1) == Int32(count))
        }
    }
#endif
