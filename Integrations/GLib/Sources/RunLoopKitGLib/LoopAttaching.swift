public import RunLoopKit

extension Loop {
    /// Attaches the loop to a context of GLib, which runs it from then on: wherever the context is iterated, by
    /// `g_main_loop_run`, by `g_application_run`, or by a dialog inside a handler, the loop makes its passes too.
    ///
    /// ```swift
    /// let attachment = try Loop.main.attach(to: .default) { g_main_loop_quit(mainLoop) }
    /// g_main_loop_run(mainLoop)
    /// attachment.detach()
    /// ```
    ///
    /// Timers, sources, posts, limiters, tasks on the loop, and on ``Loop/main`` the main actor and the main dispatch
    /// queue run beside what GLib dispatches, on one thread. Nothing polls: the context watches one descriptor, and an
    /// idle loop never wakes it.
    ///
    /// **Threads.** The thread that iterates the context must be the loop's own; a pass on another thread traps. That
    /// is the initial thread for ``Loop/main``, and as a rule for the default context. On a thread of your own, attach
    /// ``Loop/current`` to the context that the thread iterates.
    ///
    /// **The end.** Keep the attachment: its release ends it, and so does ``GLibAttachment/detach()``. It also ends
    /// when the loop ends, which is when its thread does, and when the context is freed, which the attachment does not
    /// retain.
    ///
    /// **Stops.** A ``Loop/stop()`` does not detach the loop, and neither does it quit a main loop of GLib, which the
    /// context does not know: it calls `onStop`. A stop that comes while a handler runs the loop nested ends that run
    /// instead.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - mode: The mode in which the loop makes its passes. To change it, detach the loop and attach it again.
    ///   - priority: The priority of the loop among the sources of the context; 0 is `G_PRIORITY_DEFAULT`, which GTK's
    ///     events have. GLib serves sources of a lower priority, as redrawing is, when no source of a higher one is
    ///     ready.
    ///   - onStop: Called on the loop's thread, outside the loop's handlers, after a pass that ``Loop/stop()`` has
    ///     ended. Without it a stop has no effect.
    /// - Returns: The attachment, which detaches the loop when it is released.
    /// - Throws: ``LoopError``, as ``Loop/HostFunctions/begin(in:)`` does, usually because the process has no
    ///   descriptor left. The loop is then not attached.
    /// - Precondition: As for ``Loop/HostFunctions/begin(in:)``: called on the loop's own thread, outside its runs, for
    ///   a mode other than `common` of a loop that has not ended, and is neither attached nor hosted otherwise; traps
    ///   if not.
    public func attach(
        to context: GLibContext, mode: Mode = .default, priority: Int32 = 0, onStop: (() -> Void)? = nil
    ) throws(LoopError) -> GLibAttachment {
        let source = HostSource(of: self, in: mode, watching: try hosting.begin(in: mode), onStop: onStop)
        source.attach(to: context, priority: priority)
        return GLibAttachment(source)
    }
}
