internal import CRunLoopKitGLib
import RunLoopKit

/// The source of GLib that makes a loop's passes. It watches the descriptor of the hosted loop, and that alone: the
/// kernel knows the loop's timers too, so the source needs neither a prepare function nor a timeout.
///
/// The source retains this object, and so does the loop's end handler, until the source is destroyed.
final class HostSource: @unchecked Sendable {
    private let loop: Loop
    private let mode: Loop.Mode
    private let source: UnsafeMutablePointer<GSource>

    // Accessed on the loop's thread only.
    private var onStop: (() -> Void)?
    private var endHandler: Loop.EndHandler?

    /// - Parameter descriptor: What ``Loop/beginHosting(_:)`` has returned.
    init(of loop: Loop, in mode: Loop.Mode, watching descriptor: Int32, onStop: (() -> Void)?) {
        self.loop = loop
        self.mode = mode
        self.onStop = onStop
        source = g_unix_fd_source_new(descriptor, G_IO_IN)
        endHandler = loop.onEnd { self.destroy() }
    }

    deinit { g_source_unref(source) }

    func attach(to context: GLibContext, priority: Int32) {
        let serve: GUnixFDSourceFunc = { _, _, host in
            Unmanaged<HostSource>.fromOpaque(host!).takeUnretainedValue().serve()
            return 1  // G_SOURCE_CONTINUE
        }
        g_source_set_callback(
            // G_SOURCE_FUNC: a source's own dispatch function knows the type of its callback.
            source, unsafeBitCast(serve, to: GSourceFunc.self), Unmanaged.passRetained(self).toOpaque(),
            { Unmanaged<HostSource>.fromOpaque($0!).takeRetainedValue().hasBeenDestroyed() })
        g_source_set_name(source, "RunLoopKit")
        g_source_set_priority(source, priority)
        // A handler may iterate the context, as a dialog does: the loop is then served too.
        g_source_set_can_recurse(source, 1)
        g_source_attach(source, context.pointer)
    }

    private func serve() {
        let result = loop.hostedPass()
        // A pass in which the loop was detached returns `stopped` too.
        if result == .stopped, !isDestroyed { onStop?() }
    }

    // MARK: The end

    var isDestroyed: Bool { g_source_is_destroyed(source) != 0 }

    /// Ends the attachment on the loop's thread, where hosting has to end.
    func destroy() {
        if loop.isOnOwnThread { g_source_destroy(source) } else { loop.perform(in: mode) { self.destroy() } }
    }

    /// Called by GLib when the source was destroyed and its callback has returned. The context may have been freed by
    /// another thread.
    private func hasBeenDestroyed() {
        if loop.isOnOwnThread { endHosting() } else { loop.perform(in: mode) { self.endHosting() } }
    }

    private func endHosting() {
        onStop = nil
        endHandler?.cancel()
        endHandler = nil
        // A loop that has ended is no longer hosted.
        if loop.isHosted { loop.endHosting() }
    }
}
