internal import CRunLoopKitGLib

/// A main context of GLib: what a GLib main loop iterates, and so what GTK runs on.
///
/// Refers to the context without retaining it. From any thread. GLib: `GMainContext`.
public struct GLibContext: Hashable, @unchecked Sendable {
    /// The `GMainContext *`.
    public let pointer: OpaquePointer

    /// Refers to a context that the program has made.
    ///
    /// - Parameter pointer: The `GMainContext *`, as every Swift binding of GLib imports it.
    public init(_ pointer: OpaquePointer) { self.pointer = pointer }

    /// The context of GTK and of `g_main_loop_new(nil, …)`, which the initial thread iterates as a rule. GLib:
    /// `g_main_context_default`.
    public static var `default`: GLibContext { GLibContext(g_main_context_default()) }

    /// The context that GLib uses for what the calling thread starts: the one that was pushed last on this thread, or
    /// the default context. GLib: `g_main_context_get_thread_default`.
    public static var threadDefault: GLibContext {
        g_main_context_get_thread_default().map(GLibContext.init) ?? .default
    }
}
