// The names that the functions of `Loop.hosting` had. They last for one version.

extension Loop {
    /// The name that ``HostFunctions/begin(in:)`` had.
    @available(*, deprecated, renamed: "hosting.begin(in:)")
    public func beginHosting(_ mode: Mode = .default) throws(LoopError) -> Int32 { try hosting.begin(in: mode) }

    /// The name that ``HostFunctions/pass()`` had.
    @available(*, deprecated, renamed: "hosting.pass()")
    @discardableResult
    public func hostedPass() -> HostedResult { hosting.pass() }

    /// The name that ``HostFunctions/pass(for:)`` had.
    @available(*, deprecated, renamed: "hosting.pass(for:)")
    @discardableResult
    public func hostedPass(for budget: Duration) -> HostedResult { hosting.pass(for: budget) }

    /// The name that ``HostFunctions/willSleep()`` had.
    @available(*, deprecated, renamed: "hosting.willSleep()")
    public func hostWillSleep() -> Bool { hosting.willSleep() }

    /// The name that ``HostFunctions/didWake()`` had.
    @available(*, deprecated, renamed: "hosting.didWake()")
    public func hostDidWake() { hosting.didWake() }

    /// The name that ``HostFunctions/timeout`` had.
    @available(*, deprecated, renamed: "hosting.timeout")
    public var hostTimeout: Duration? { hosting.timeout }

    /// The name that ``HostFunctions/isActive`` had.
    @available(*, deprecated, renamed: "hosting.isActive")
    public var isHosted: Bool { hosting.isActive }

    /// The name that ``HostFunctions/end()`` had.
    @available(*, deprecated, renamed: "hosting.end()")
    public func endHosting() { hosting.end() }
}
