// Handlers that are isolated to an actor on the loop: they touch its state without a box and without `await`.
//
// One mechanism for all kinds of items. The item's handler holds the actor weakly, since the actor retains its loop and
// the loop its items. After the actor is deallocated, the next call invalidates the item instead.

extension Loop.Timer {
    /// Makes a timer whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers. On any thread.
    ///
    /// ```swift
    /// actor Meter {
    ///     private let thread: LoopThread
    ///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    ///     private(set) var ticks = 0
    ///
    ///     init() throws { thread = try LoopThread(name: "meter") }
    ///
    ///     func start() {
    ///         let timer = Loop.Timer(every: .seconds(1), isolation: self) { meter, firing in
    ///             meter.ticks += 1 + firing.missed
    ///         }
    ///         thread.loop.add(timer, in: .default)
    ///     }
    /// }
    /// ```
    ///
    /// The actor is not retained: once it is deallocated, the timer invalidates itself instead of calling its handler.
    ///
    /// - Parameters:
    ///   - delay: How long to wait at least after the timer is added. If zero or less, the timer is due at once, and
    ///     called after what the loop has already found ready.
    ///   - interval: The time between calls; nil, zero or less for a single call.
    ///   - tolerance: How much later than due a call may come; see ``Loop/Timer/tolerance``.
    ///   - timeBase: The clock to count on: whether time in suspend counts.
    ///   - actor: Its executor is the timer's loop, or another one of the same thread. Otherwise the first call traps,
    ///     and names the actor. The initializer for the main actor has a handler that takes the firing alone.
    ///   - label: What diagnostics call the timer; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the timer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread. Not called again while it runs.
    public convenience init<A: Actor>(
        after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
        timeBase: Loop.TimeBase = .suspending, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ firing: Firing) -> Void
    ) {
        let isolated = IsolatedHandler(actor, handler)
        self.init(
            after: delay, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label, file: file,
            line: line
        ) {
            isolated.call($0)
        }
        isolated.belongs(to: self)
    }

    /// Makes a timer that fires `delay` after it is added to a loop, and again whenever it is restarted, with a handler
    /// that is isolated to an actor on the loop. See
    /// `init(restartableAfter:tolerance:timeBase:label:file:line:handler:)` and
    /// `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init<A: Actor>(
        restartableAfter delay: Duration, tolerance: Duration = .zero, timeBase: Loop.TimeBase = .suspending,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ firing: Firing) -> Void
    ) {
        let isolated = IsolatedHandler(actor, handler)
        self.init(
            restartableAfter: delay, tolerance: tolerance, timeBase: timeBase, label: label, file: file, line: line
        ) {
            isolated.call($0)
        }
        isolated.belongs(to: self)
    }

    /// Makes a timer that fires at `time`, on the clock of the loop or that of another `timeBase`, and then every
    /// `interval`, with a handler that is isolated to an actor on the loop. See
    /// `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init<A: Actor>(
        at time: Loop.Instant, repeating interval: Duration? = nil, tolerance: Duration = .zero,
        timeBase: Loop.TimeBase = .suspending, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ firing: Firing) -> Void
    ) {
        let isolated = IsolatedHandler(actor, handler)
        self.init(
            at: time, repeating: interval, tolerance: tolerance, timeBase: timeBase, label: label, file: file,
            line: line
        ) {
            isolated.call($0)
        }
        isolated.belongs(to: self)
    }

    /// Makes a timer that fires every `interval`, with a handler that is isolated to an actor on the loop. See
    /// `init(after:repeating:tolerance:timeBase:isolation:label:file:line:handler:)`.
    public convenience init<A: Actor>(
        every interval: Duration, tolerance: Duration = .zero, timeBase: Loop.TimeBase = .suspending,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ firing: Firing) -> Void
    ) {
        self.init(
            after: interval, repeating: interval, tolerance: tolerance, timeBase: timeBase, isolation: actor,
            label: label, file: file, line: line, handler: handler)
    }
}

extension Loop.Source0 {
    /// Makes a source that performs isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    public convenience init<A: Actor>(
        order: Int = 0, isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        perform: @escaping @Sendable (_ actor: isolated A) -> Void
    ) {
        let isolated = IsolatedHandler(actor) { (actor: isolated A, _: Void) in perform(actor) }
        self.init(order: order, label: label, file: file, line: line) { isolated.call(()) }
        isolated.belongs(to: self)
    }
}

extension Loop.PortSource {
    /// Makes a port whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    ///
    /// - Throws: ``LoopError`` from `eventfd`, when the process has no descriptor left.
    public convenience init<A: Actor>(
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ count: Int) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(label: label, file: file, line: line) { isolated.call($0) }
        isolated.belongs(to: self)
    }
}

extension Loop.Observer {
    /// Makes an observer whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has
    /// the rules of such handlers.
    ///
    /// - Parameters:
    ///   - activities: The activities at which the observer is called.
    ///   - repeats: Whether to call the observer repeatedly. If `false`, the first call invalidates it.
    ///   - order: Its place among the observers of one activity: lower is earlier.
    ///   - actor: Its executor is the loop that the observer is added to, or another one of the same thread.
    ///   - label: What diagnostics call the observer; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the observer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with the observer itself and the one activity that it is called for.
    public convenience init<A: Actor>(
        _ activities: Loop.Activity = .all, repeats: Bool = true, order: Int = 0, isolation actor: A,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ observer: Loop.Observer, _ activity: Loop.Activity) -> Void
    ) {
        let isolated = IsolatedHandler(actor, handler)
        self.init(activities, repeats: repeats, order: order, label: label, file: file, line: line) {
            isolated.call(($0, $1))
        }
        isolated.belongs(to: self)
    }
}

/// What has a handler, and ends when the actor of the handler is gone.
protocol HandlerOwner: AnyObject {
    /// A call of this handler has found that its actor is gone.
    func actorIsGone(of handler: AnyObject)

    /// The loop that calls the handler, if that is always the same.
    var callingLoop: Loop? { get }
}

extension Loop.Item: HandlerOwner {
    func actorIsGone(of handler: AnyObject) { invalidate() }

    var callingLoop: Loop? { nil }
}

/// A handler of an item, or of a limiter, that runs isolated to an actor.
final class IsolatedHandler<A: Actor, Input: Sendable>: @unchecked Sendable {
    private weak let actor: A?
    private let handler: @Sendable (isolated A, Input) -> Void
    private weak var owner: (any HandlerOwner)?
    /// That of a limiter, which retains it, too. Nil for an item.
    private let callingLoop: Loop?

    /// - Parameter owner: What gets the handler, if it exists already.
    init(
        _ actor: A, for owner: (any HandlerOwner)? = nil, _ handler: @escaping @Sendable (isolated A, Input) -> Void
    ) {
        self.actor = actor
        self.handler = handler
        self.owner = owner
        callingLoop = owner?.callingLoop
    }

    /// Called once, before the item is shared.
    func belongs(to item: Loop.Item) {
        owner = item
        item.isolation = .actor
    }

    /// For a handler with two arguments besides the actor.
    convenience init<First, Second>(
        _ actor: A, for owner: (any HandlerOwner)? = nil,
        _ handler: @escaping @Sendable (isolated A, First, Second) -> Void
    ) where Input == (First, Second) {
        self.init(actor, for: owner) { (actor: isolated A, input: Input) in handler(actor, input.0, input.1) }
    }

    /// Returns false if the actor is gone.
    @discardableResult
    func call(_ input: Input) -> Bool {
        guard let actor else {
            owner?.actorIsGone(of: self)
            return false
        }
        if actor.unownedExecutor.isOfDefaultActor { actorHasNoLoop() }
        // A limiter acts outside of runs, too, where a loop in virtual time is not the current one.
        (callingLoop ?? .current).withoutJobs { actor.assumeIsolated { handler($0, input) } }
        return true
    }

    /// Swift's own message names neither the item nor the remedy.
    private func actorHasNoLoop() -> Never {
        fatalError(
            "RunLoopKit: \((owner as? Loop.Item)?.name ?? "a limiter") has a handler of the actor \(A.self), which "
                + "runs on no loop. Give the actor 'nonisolated var unownedExecutor: UnownedSerialExecutor { "
                + "loop.asUnownedSerialExecutor() }' with the loop that the handler is called on.")
    }
}

extension UnownedSerialExecutor {
    /// Whether the executor is the one that Swift gives to an actor without `unownedExecutor`: its second word, the
    /// table of the executor's functions, is zero.
    fileprivate var isOfDefaultActor: Bool { unsafeBitCast(self, to: (UInt, UInt).self).1 == 0 }
}
