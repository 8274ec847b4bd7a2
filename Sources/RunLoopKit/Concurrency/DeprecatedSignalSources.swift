// Forms that last for one version.

extension Loop.SignalSource {
    /// Makes a source. Threads are not checked: any thread may take the signal.
    @available(*, deprecated, message: "Any thread may take the signal: leave 'checkingThreads' out.")
    public convenience init(
        _ signal: Int32, checkingThreads: Bool, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, handler: @escaping Handler
    ) throws(LoopError) {
        try self.init(signal, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source whose handler is isolated to an actor. Threads are not checked: any thread may take the signal.
    @available(*, deprecated, message: "Any thread may take the signal: leave 'checkingThreads' out.")
    public convenience init<A: Actor>(
        _ signal: Int32, checkingThreads: Bool, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        try self.init(signal, isolation: actor, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source whose handler belongs to the main actor. Threads are not checked: any thread may take the signal.
    @available(*, deprecated, message: "Any thread may take the signal: leave 'checkingThreads' out.")
    public convenience init(
        _ signal: Int32, checkingThreads: Bool, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        try self.init(signal, isolation: mainActor, label: label, file: file, line: line, handler: handler)
    }
}
