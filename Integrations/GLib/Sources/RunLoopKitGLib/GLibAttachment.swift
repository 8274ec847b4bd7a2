/// A loop that a context of GLib runs, until this object is released. Made by `Loop.attach(to:)`.
///
/// From any thread.
public final class GLibAttachment: Sendable {
    private let source: HostSource

    init(_ source: HostSource) { self.source = source }

    deinit { source.destroy() }

    /// Whether the context still runs the loop.
    public var isAttached: Bool { !source.isDestroyed }

    /// Detaches the loop, which can then be run, or attached again. Does nothing if it is no longer attached.
    ///
    /// On the loop's own thread this takes effect at once, or, in a handler, as soon as the outermost handler that the
    /// context has called returns. On another thread, the call posts it to the loop: it takes effect when the context
    /// is iterated.
    public func detach() { source.destroy() }
}
