internal import CRunLoopKitGLib
import RunLoopKit

/// The source of GLib that makes a loop's passes. It watches the descriptor of the hosted loop, and needs no timeout:
/// the kernel knows the loop's timers too. GLib calls it before each poll and after it, so the loop knows when its host
/// sleeps, and a post of the context's own thread makes no system call.
///
/// The source retains this object, and so does the loop's end handler, until the source is destroyed.
final class HostSource: @unchecked Sendable {
    /// What GLib allocates for the source.
    private struct Storage {
        // First: GLib takes a pointer to the whole for one to this.
        var source: GSource
        /// Nil once the source has been destroyed.
        var host: Unmanaged<HostSource>?
    }

    private let loop: Loop
    private let mode: Loop.Mode
    private let source: UnsafeMutablePointer<GSource>
    /// What the source knows the descriptor by.
    private let tag: gpointer

    // Accessed on the loop's thread only.
    private var onStop: (() -> Void)?
    private var endHandler: Loop.EndHandler?

    /// - Parameter descriptor: What ``Loop/HostFunctions/begin(in:)`` has returned.
    init(of loop: Loop, in mode: Loop.Mode, watching descriptor: Int32, onStop: (() -> Void)?) {
        self.loop = loop
        self.mode = mode
        self.onStop = onStop
        source = g_source_new(HostSource.functions, guint(MemoryLayout<Storage>.stride))
        tag = g_source_add_unix_fd(source, descriptor, G_IO_IN)
        endHandler = loop.onEnd { self.destroy() }
    }

    deinit { g_source_unref(source) }

    func attach(to context: GLibContext, priority: Int32) {
        HostSource.withStorage(of: source) { $0.host = Unmanaged.passUnretained(self) }
        // GLib keeps the callback's data as long as it may call the source.
        g_source_set_callback(
            source, { _ in 1 }, Unmanaged.passRetained(self).toOpaque(),
            { Unmanaged<HostSource>.fromOpaque($0!).takeRetainedValue().hasBeenDestroyed() })
        g_source_set_name(source, "RunLoopKit")
        g_source_set_priority(source, priority)
        // A handler may iterate the context, as a dialog does: the loop is then served too.
        g_source_set_can_recurse(source, 1)
        g_source_attach(source, context.pointer)
    }

    // MARK: The functions of the source

    // Never deallocated: GLib uses it for all sources.
    private nonisolated(unsafe) static let functions = {
        let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
        functions.initialize(to: GSourceFuncs())
        functions.pointee.prepare = { source, timeout in
            timeout?.pointee = -1  // Without a limit: the descriptor ends the poll.
            return HostSource.host(of: source)?.prepare() ?? false ? 1 : 0
        }
        functions.pointee.check = { source in HostSource.host(of: source)?.check() ?? false ? 1 : 0 }
        functions.pointee.dispatch = { source, _, _ in
            HostSource.host(of: source)?.serve()
            return 1  // G_SOURCE_CONTINUE
        }
        return functions
    }()

    private static func withStorage<Result>(
        of source: UnsafeMutablePointer<GSource>?, _ body: (inout Storage) -> Result
    ) -> Result {
        UnsafeMutableRawPointer(source!).withMemoryRebound(to: Storage.self, capacity: 1) { body(&$0.pointee) }
    }

    private static func host(of source: UnsafeMutablePointer<GSource>?) -> HostSource? {
        withStorage(of: source) { $0.host?.takeUnretainedValue() }
    }

    /// GLib is about to poll. Returns whether the source has work already, so that the poll must not sleep.
    private func prepare() -> Bool { loop.hosting.isActive && !loop.hosting.willSleep() }

    /// GLib has polled, and the source had no work before. Returns whether it has now.
    private func check() -> Bool {
        if loop.hosting.isActive { loop.hosting.didWake() }
        return g_source_query_unix_fd(source, tag) != GIOCondition(0)
    }

    private func serve() {
        let result = loop.hosting.pass()
        // A pass in which the loop was detached returns `stopped` too.
        if result == .stopped, !isDestroyed { onStop?() }
    }

    // MARK: The end

    var isDestroyed: Bool { g_source_is_destroyed(source) != 0 }

    /// Ends the attachment on the loop's thread, where hosting has to end.
    func destroy() {
        if loop.isOnOwnThread { g_source_destroy(source) } else { onLoop { $0.destroy() } }
    }

    /// Called by GLib when the source was destroyed and its callback has returned. The context may have been freed by
    /// another thread.
    private func hasBeenDestroyed() {
        HostSource.withStorage(of: source) { $0.host = nil }
        if loop.isOnOwnThread { endHosting() } else { onLoop { $0.endHosting() } }
    }

    /// Calls a body on the loop's thread. A loop that ends, and refuses it, has ended the attachment itself.
    private func onLoop(_ body: @escaping @Sendable (HostSource) -> Void) {
        _ = loop.performCancellable(in: mode) { body(self) }
    }

    private func endHosting() {
        onStop = nil
        endHandler?.cancel()
        endHandler = nil
        // A loop that has ended is no longer hosted.
        if loop.hosting.isActive { loop.hosting.end() }
    }
}
