import RunLoopKit

/// Calls that an asynchronous function must not make, since they block its thread. Tests make them where they know that
/// it does no harm, mostly in a process of their own.
extension LoopThread {
    package func joinBlocking() { join() }

    @discardableResult
    package func performBlocking<Value: Sendable>(
        in mode: Loop.Mode = .common, for limit: Duration? = nil, _ block: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        try performAndWait(in: mode, for: limit, block)
    }
}

extension LoopThreadPool {
    package func joinBlocking() { join() }
    package func drainBlocking() { drainAndWait() }
    package func drainBlocking(for limit: Duration) -> Bool { drainAndWait(for: limit) }
}

extension Loop {
    @discardableResult
    package func performBlocking<Value: Sendable>(
        in mode: Loop.Mode = .common, for limit: Duration? = nil, _ block: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        try performAndWait(in: mode, for: limit, block)
    }
}
