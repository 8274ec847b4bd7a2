// Handlers of the main actor: they touch its state without `assumeIsolated`.
//
// An item with such a handler joins `Loop.main`, whose thread is the main actor's. So a call checks nothing: a
// synchronous closure of the main actor is called as all others are, and only its type says where. In virtual time any
// loop takes it, and each call is checked.

extension Loop.Timer {
    /// Makes a timer for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time. ``Loop/Item`` has the rules of such handlers. On any thread.
    ///
    /// ```swift
    /// var ticks = 0  // of main.swift, or a property of a @MainActor class
    /// let timer = Loop.Timer(every: .seconds(1), isolation: .shared) { _ in ticks += 1 }
    /// Loop.main.add(timer, in: .common)
    /// ```
    ///
    /// A call costs no more than that of other handlers.
    ///
    /// - Parameters:
    ///   - delay: How long to wait at least after the timer is added. If zero or less, the timer is due at once, and
    ///     called after what the loop has already found ready.
    ///   - interval: The time between calls; nil, zero or less for a single call.
    ///   - tolerance: How much later than due a call may come; see ``Loop/Timer/tolerance``.
    ///   - timeBase: The clock to count on: whether time in suspend counts.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the timer; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the timer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread. Not called again while it runs.
    public convenience init(
        after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
        timeBase: Loop.TimeBase = .suspending, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, handler: @escaping @MainActor (_ firing: Firing) -> Void
    ) {
        self.init(
            after: delay, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label, file: file,
            line: line, handler: unsafeBitCast(handler, to: (@Sendable (Firing) -> Void).self))
        isolation = .mainActor
    }

    /// Makes a timer for ``Loop/main`` that fires `delay` after it is added to the loop, and again whenever it is
    /// restarted, with a handler of the main actor. See
    /// `init(restartableAfter:tolerance:timeBase:label:file:line:handler:)` and
    /// `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init(
        restartableAfter delay: Duration, tolerance: Duration = .zero, timeBase: Loop.TimeBase = .suspending,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ firing: Firing) -> Void
    ) {
        self.init(
            restartableAfter: delay, tolerance: tolerance, timeBase: timeBase, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: (@Sendable (Firing) -> Void).self))
        isolation = .mainActor
    }

    /// Makes a timer for ``Loop/main`` that fires at `time`, and then every `interval`, with a handler of the main
    /// actor. See `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init(
        at time: Loop.Instant, repeating interval: Duration? = nil, tolerance: Duration = .zero,
        timeBase: Loop.TimeBase = .suspending, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, handler: @escaping @MainActor (_ firing: Firing) -> Void
    ) {
        self.init(
            at: time, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label, file: file,
            line: line, handler: unsafeBitCast(handler, to: (@Sendable (Firing) -> Void).self))
        isolation = .mainActor
    }

    /// Makes a timer for ``Loop/main`` that fires every `interval`, with a handler of the main actor. See
    /// `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init(
        every interval: Duration, tolerance: Duration = .zero, timeBase: Loop.TimeBase = .suspending,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ firing: Firing) -> Void
    ) {
        self.init(
            after: interval, repeating: interval, tolerance: tolerance, timeBase: timeBase, isolation: mainActor,
            label: label, file: file, line: line, handler: handler)
    }
}

extension Loop.Source0 {
    /// Makes a source for ``Loop/main`` that performs on the main actor, and may touch its state. Another loop refuses
    /// it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - order: Its place among the sources performed in one pass: lower is earlier.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - perform: Called on the main thread, by the pass that finds the source signalled.
    public convenience init(
        order: Int = 0, isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, perform: @escaping @MainActor () -> Void
    ) {
        self.init(
            order: order, label: label, file: file, line: line,
            perform: unsafeBitCast(perform, to: (@Sendable () -> Void).self))
        isolation = .mainActor
    }
}

extension Loop.PortSource {
    /// Makes a port for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the port; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the port, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with the number of sends since its last call, at least 1.
    /// - Throws: ``LoopError`` from `eventfd`, if the process has no descriptor left.
    public convenience init(
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ count: Int) -> Void
    ) throws(LoopError) {
        try self.init(
            label: label, file: file, line: line, handler: unsafeBitCast(handler, to: (@Sendable (Int) -> Void).self))
        isolation = .mainActor
    }
}

extension Loop.Observer {
    /// Makes an observer for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another
    /// loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - activities: The activities at which the observer is called.
    ///   - repeats: Whether to call the observer repeatedly. If `false`, the first call invalidates it.
    ///   - order: Its place among the observers of one activity: lower is earlier.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the observer; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the observer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with the one activity that it is called for.
    public convenience init(
        _ activities: Loop.Activity = .all, repeats: Bool = true, order: Int = 0, isolation mainActor: MainActor,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ observer: Loop.Observer, _ activity: Loop.Activity) -> Void
    ) {
        self.init(
            activities, repeats: repeats, order: order, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: (@Sendable (Loop.Observer, Loop.Activity) -> Void).self))
        isolation = .mainActor
    }
}

extension Loop {
    /// Posts a block of the main actor to ``Loop/main``, as
    /// ``Loop/perform(in:wake:label:file:line:_:)-(Loop.Mode,_,_,_,_,_)`` does. Another loop refuses it, which is
    /// reported as ``Loop/Mistake/refusedItem(item:reason:)``, unless it is in virtual time: see ``Loop/Item``.
    ///
    /// ```swift
    /// Loop.main.perform(isolation: .shared) { window.title = "done" }
    /// ```
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run.
    ///   - wake: Whether to wake a sleeping loop. If `false`, as in CF, the block waits for another reason to make a
    ///     pass.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the main thread, and released after the call.
    /// - Returns: Whether the block was accepted.
    @discardableResult
    public func perform(
        in mode: Mode = .default, wake: Bool = true, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping @MainActor () -> Void
    ) -> Bool {
        guard takesMainActor else {
            Mistakes.shared.report(.refusedItem(item: "block (\(file):\(line))", reason: .itemIsForMainActor))
            return false
        }
        let block = unsafeBitCast(block, to: (@Sendable () -> Void).self)
        if isMain { return perform(in: mode, wake: wake, label: label, file: file, line: line, block) }
        return perform(in: mode, wake: wake, label: label, file: file, line: line) {
            Loop.requireMainActor("block (\(file):\(line))")
            block()
        }
    }

    /// Runs a block of the main actor on ``Loop/main`` after a delay, by a timer, as
    /// ``Loop/perform(after:in:label:file:line:_:)`` does. Another loop refuses it, which is reported as
    /// ``Loop/Mistake/refusedItem(item:reason:)``, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - delay: How long to wait at least. If zero or less, the block is due at once.
    ///   - mode: The mode in which the block may run.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the timer; nil to call it by the place where the block was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the main thread, and released after the call.
    /// - Returns: The timer that runs the block; invalidate it to cancel the block. Nil if the loop refuses it, or
    ///   has ended, which is reported in the same way.
    @discardableResult
    public func perform(
        after delay: Duration, in mode: Mode = .default, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping @MainActor () -> Void
    ) -> Timer? {
        let timer = Timer(after: delay, isolation: mainActor, label: label, file: file, line: line) { _ in block() }
        return add(timer, in: mode) ? timer : nil
    }
}
