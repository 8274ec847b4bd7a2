#if canImport(CLibUV)
    import CLibUV
    import Foundation

    /// A libuv loop with an async handle.
    final class UVLoop: @unchecked Sendable {
        let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        private let async = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
        private let onWake: () -> Void

        init(onWake: @escaping () -> Void) {
            self.onWake = onWake
            check("uv_loop_init", uv_loop_init(loop))
            check(
                "uv_async_init",
                uv_async_init(loop, async) {
                    Unmanaged<UVLoop>.fromOpaque($0!.pointee.data).takeUnretainedValue().onWake()
                })
            async.pointee.data = Unmanaged.passRetained(self).toOpaque()
        }

        func run(_ mode: uv_run_mode) { uv_run(loop, mode) }
        func wake() { uv_async_send(async) }
    }

    final class UVSink: Sink {
        let name = "libuv, list"
        private let list = HandMadeList()
        private let loop: UVLoop

        init() {
            let loop = UVLoop { [list] in list.run() }
            self.loop = loop
            _ = PlainThread { loop.run(UV_RUN_DEFAULT) }
        }

        func post(_ block: @escaping @Sendable () -> Void) { if list.append(block) { loop.wake() } }
    }
#endif
