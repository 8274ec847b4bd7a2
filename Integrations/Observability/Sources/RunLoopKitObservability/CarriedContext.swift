public import Tracing

extension ServiceContext {
    /// Returns a closure that runs `body` in the context in which this function is called: what a handler does then
    /// belongs to the request that posted it.
    ///
    /// ```swift
    /// loop.perform(ServiceContext.carried { save() })
    /// let size = try await pool.run(ServiceContext.carried { try measure() })
    /// ```
    ///
    /// It works with all functions that take a closure, and costs a task-local binding for each call. The jobs of
    /// actors and tasks on a loop need it not: Swift carries their task-local values.
    ///
    /// - Parameter body: Called in the closure, with ``ServiceContext/current`` as it is now, also if there is none.
    public static func carried<Result>(_ body: @escaping @Sendable () -> Result) -> @Sendable () -> Result {
        let context = ServiceContext.current
        return { ServiceContext.withValue(context) { body() } }
    }

    /// The same for a closure that throws.
    public static func carried<Result>(
        _ body: @escaping @Sendable () throws -> Result
    ) -> @Sendable () throws -> Result {
        let context = ServiceContext.current
        return { try ServiceContext.withValue(context) { try body() } }
    }

    /// The same for a closure with an input, such as the handler of a timer.
    public static func carried<Input, Result>(
        _ body: @escaping @Sendable (Input) -> Result
    ) -> @Sendable (Input) -> Result {
        let context = ServiceContext.current
        return { input in ServiceContext.withValue(context) { body(input) } }
    }
}

/// A message with the context of its sender: the message type of a `Loop.MessagePort`.
///
/// ```swift
/// let port = Loop.MessagePort<Carried<Order>> { message in
///     message.withContext { order in ship(order) }
/// }
/// port.send(Carried(order))
/// ```
public struct Carried<Value: Sendable>: Sendable {
    /// The message itself.
    public let value: Value

    /// The sender's context, if it had one.
    public let context: ServiceContext?

    /// Combines a message with a context, by default that of the caller.
    public init(_ value: Value, context: ServiceContext? = .current) {
        self.value = value
        self.context = context
    }

    /// Calls `body` with the message, in the sender's context.
    public func withContext<Result>(_ body: (Value) throws -> Result) rethrows -> Result {
        try ServiceContext.withValue(context) { try body(value) }
    }
}

/// Returns a closure that runs `body` in a span of its own, a child of the span in which this function is called.
///
/// ```swift
/// loop.perform(traced("save") { save() })
/// ```
///
/// The span begins when the closure is called. Its attribute `runloop.queued_ns` is the time from this call until then.
///
/// - Parameters:
///   - operationName: The span's name.
///   - kind: The span's kind.
///   - tracer: Makes the span; nil for the tracer with which the program has bootstrapped `InstrumentationSystem`.
///   - body: Called in the span, whose context is ``ServiceContext/current`` then.
public func traced<Result>(
    _ operationName: String, ofKind kind: SpanKind = .internal, by tracer: (any Tracer)? = nil,
    _ body: @escaping @Sendable () -> Result
) -> @Sendable () -> Result {
    let call = CarriedSpan(operationName, kind, tracer)
    return { call.run { _ in body() } }
}

/// The same for a closure that throws. The span records its error.
public func traced<Result>(
    _ operationName: String, ofKind kind: SpanKind = .internal, by tracer: (any Tracer)? = nil,
    _ body: @escaping @Sendable () throws -> Result
) -> @Sendable () throws -> Result {
    let call = CarriedSpan(operationName, kind, tracer)
    return { try call.run { _ in try body() } }
}

/// What a traced closure remembers of its maker.
private struct CarriedSpan: Sendable {
    let name: String
    let kind: SpanKind
    let tracer: (any Tracer)?
    let context = ServiceContext.current ?? .topLevel
    let posted = ContinuousClock.now

    init(_ name: String, _ kind: SpanKind, _ tracer: (any Tracer)?) {
        (self.name, self.kind, self.tracer) = (name, kind, tracer)
    }

    func run<Result>(_ body: (any Span) throws -> Result) rethrows -> Result {
        let queued = ContinuousClock.now - posted
        return try (tracer ?? InstrumentationSystem.tracer).withAnySpan(name, context: context, ofKind: kind) { span in
            span.attributes["runloop.queued_ns"] = Int64(queued / .nanoseconds(1))
            return try body(span)
        }
    }
}
