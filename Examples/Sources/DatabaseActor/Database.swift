import CSQLite
import RunLoopKit
import Synchronization

/// A database whose queries run on a thread of its own: a long one keeps no thread of Swift concurrency busy, and it
/// ends when its time is up or its task is cancelled.
actor Database {
    struct Failure: Error, CustomStringConvertible { let description: String }
    struct TimedOut: Error {}

    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    private let connection: Connection

    init(path: String) throws {
        thread = try LoopThread(name: "database")
        connection = try Connection(path: path)
    }

    /// Returns the rows of a query, each value as text.
    ///
    /// - Throws: ``TimedOut``, `CancellationError` or ``Failure``.
    func rows(_ query: String, timeout: Duration? = nil) async throws -> [[String]] {
        try Task.checkCancellation()
        let running = RunningQuery(on: connection)
        // This thread is busy meanwhile, so the timer is on the main loop. It repeats because SQLite ignores an
        // interrupt before the query's first step.
        let timer = Loop.Timer(after: timeout ?? .seconds(Int64.max), repeating: .milliseconds(10)) { _ in
            running.interrupt()
        }
        Loop.main.add(timer, in: .common)
        defer {
            timer.invalidate()
            running.end()
        }
        return try await withTaskCancellationHandler {
            try connection.rows(query)
        } onCancel: {
            timer.restart(after: .zero)
        }
    }
}

/// A query that other threads may interrupt until it ends. A later query on the connection is not affected.
private final class RunningQuery: Sendable {
    private let connection: Connection
    private let isRunning = Mutex(true)

    init(on connection: Connection) { self.connection = connection }
    func interrupt() { isRunning.withLock { if $0 { sqlite3_interrupt(connection.handle) } } }
    func end() { isRunning.withLock { $0 = false } }
}

/// Closes the connection when its last reference is released. SQLite locks it for each call.
private final class Connection: @unchecked Sendable {
    let handle: OpaquePointer

    init(path: String) throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            sqlite3_close(handle)
            throw Database.Failure(description: String(cString: sqlite3_errstr(result)))
        }
        self.handle = handle
    }

    deinit { sqlite3_close_v2(handle) }

    func rows(_ query: String) throws -> [[String]] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let prepared = sqlite3_prepare_v2(handle, query, -1, &statement, nil)
        guard prepared == SQLITE_OK else { throw error(prepared) }
        var rows: [[String]] = []
        while true {
            let result = sqlite3_step(statement)
            switch result {
            case SQLITE_ROW:
                rows.append(
                    (0..<sqlite3_column_count(statement)).map { column in
                        sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
                    })
            case SQLITE_DONE: return rows
            default: throw error(result)
            }
        }
    }

    /// Returns the error that a call's result stands for. An interrupt ends the compiling of a query, too.
    private func error(_ result: Int32) -> any Error {
        guard result == SQLITE_INTERRUPT else {
            return Database.Failure(description: String(cString: sqlite3_errmsg(handle)))
        }
        return Task.isCancelled ? CancellationError() : Database.TimedOut()
    }
}
