// The interfaces of other libraries as the fragments of the documentation call them, with the types that Swift imports
// them with. Their programs are built with the libraries themselves, in Integrations or by hand; see docs/hosting.md.
#if canImport(Glibc)
    import Glibc
#endif

// GLib
struct GIOCondition { static let input = GIOCondition() }
let G_IO_IN = GIOCondition.input
@discardableResult func g_unix_fd_add(
    _ descriptor: Int32, _ condition: GIOCondition,
    _ function: @convention(c) (Int32, Int32, UnsafeMutableRawPointer?) -> Int32, _ data: UnsafeMutableRawPointer?
) -> UInt32 { 0 }
func g_main_context_find_source_by_id(_ context: OpaquePointer?, _ id: UInt32) -> OpaquePointer? { nil }
func g_source_set_can_recurse(_ source: OpaquePointer?, _ canRecurse: Int32) {}

// SwiftNIO
struct EventLoopFuture<Value> { func wait() throws -> Value { fatalError() } }
struct EventLoop: Sendable {
    func submit<Value>(_ task: @escaping @Sendable () throws -> Value) -> EventLoopFuture<Value> { EventLoopFuture() }
    func shutdownGracefully(_ callback: @escaping @Sendable ((any Error)?) -> Void) {}
}
enum MultiThreadedEventLoopGroup {
    static func withCurrentThreadAsEventLoop(_ body: @escaping (EventLoop) -> Void) {}
}

// ALSA
typealias snd_pcm_uframes_t = UInt
func snd_pcm_poll_descriptors_count(_ stream: OpaquePointer?) -> Int32 { 0 }
@discardableResult func snd_pcm_poll_descriptors(
    _ stream: OpaquePointer?, _ descriptors: UnsafeMutablePointer<pollfd>?, _ space: UInt32
) -> Int32 { 0 }
@discardableResult func snd_pcm_poll_descriptors_revents(
    _ stream: OpaquePointer?, _ descriptors: UnsafeMutablePointer<pollfd>?, _ count: UInt32,
    _ events: UnsafeMutablePointer<UInt16>?
) -> Int32 { 0 }
func snd_pcm_avail_update(_ stream: OpaquePointer?) -> Int { 0 }
func snd_pcm_recover(_ stream: OpaquePointer?, _ error: Int32, _ silent: Int32) -> Int32 { 0 }
@discardableResult func snd_pcm_writei(
    _ stream: OpaquePointer?, _ frames: UnsafeRawPointer?, _ count: snd_pcm_uframes_t
) -> Int { 0 }
@discardableResult func snd_pcm_close(_ stream: OpaquePointer?) -> Int32 { 0 }

// swift-service-lifecycle
protocol Service: Sendable { func run() async throws }
func withGracefulShutdownHandler<T>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> T,
    onGracefulShutdown: @escaping @Sendable () -> Void
) async rethrows -> T { try await operation() }

// Android
let ALOOPER_POLL_CALLBACK = -2
let ALOOPER_EVENT_INPUT = 1
func ALooper_prepare(_ options: Int32) -> OpaquePointer? { nil }
@discardableResult func ALooper_addFd(
    _ looper: OpaquePointer?, _ descriptor: Int32, _ identifier: Int32, _ events: Int32,
    _ callback: @convention(c) (Int32, Int32, UnsafeMutableRawPointer?) -> Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 { 0 }

// Wayland
nonisolated(unsafe) let display = OpaquePointer(bitPattern: 1)
func wl_display_get_fd(_ display: OpaquePointer?) -> Int32 { 0 }
func wl_display_prepare_read(_ display: OpaquePointer?) -> Int32 { 0 }
@discardableResult func wl_display_dispatch_pending(_ display: OpaquePointer?) -> Int32 { 0 }
@discardableResult func wl_display_flush(_ display: OpaquePointer?) -> Int32 { 0 }
@discardableResult func wl_display_read_events(_ display: OpaquePointer?) -> Int32 { 0 }
func wl_display_cancel_read(_ display: OpaquePointer?) {}
func isReadable(_ descriptor: Int32) -> Bool { true }
