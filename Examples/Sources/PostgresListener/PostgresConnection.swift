import CLibPQ
import RunLoopKit

/// A connection to a PostgreSQL server as an input of the main loop. libpq does the work, and owns the socket.
@MainActor final class PostgresConnection {
    enum Event {
        case connected
        case notification(channel: String, payload: String)
        /// The connection is over. Nothing comes after it.
        case lost(String)
    }

    private var connection: OpaquePointer?
    private var source: Loop.FileDescriptorSource?
    private var timeout: Loop.Timer!
    private let report: @MainActor (Event) -> Void

    init(report: @escaping @MainActor (Event) -> Void) { self.report = report }

    isolated deinit { end() }

    /// Begins to connect. What comes of it is reported.
    func start(_ parameters: String, within limit: Duration) {
        connection = PQconnectStart(parameters)
        guard PQstatus(connection) != CONNECTION_BAD else { return lose() }
        timeout = Loop.Timer(after: limit, isolation: .shared) {
            [unowned self] _ in lose("no connection in time")
        }
        Loop.main.add(timeout, in: .common)
        watch(.write) { $0.connect() }
    }

    /// Calls a function when libpq's socket of the moment is ready.
    private func watch(
        _ interest: Loop.FileDescriptorSource.Interest,
        handler: @escaping @MainActor (PostgresConnection) -> Void
    ) {
        source?.invalidate()
        do {
            let source = try Loop.FileDescriptorSource(
                PQsocket(connection), interest: interest, isolation: .shared,
                label: "PostgreSQL"
            ) { [unowned self] _, _ in handler(self) }
            Loop.main.add(source, in: .common)
            self.source = source
        } catch {
            lose("\(error)")
        }
    }

    private func connect() {
        switch PQconnectPoll(connection) {
        case PGRES_POLLING_READING: watch(.read) { $0.connect() }
        case PGRES_POLLING_WRITING: watch(.write) { $0.connect() }
        case PGRES_POLLING_OK:
            timeout.invalidate()
            PQsetnonblocking(connection, 1)
            PQsetNoticeProcessor(connection, { _, _ in }, nil)  // or it prints
            watch(.read) { $0.serve() }
            if connection != nil { report(.connected) }
        default: lose()
        }
    }

    /// Sends a command, of which nothing is reported but an error. Returns false if the connection is lost.
    func send(_ command: String) -> Bool {
        if PQsendQuery(connection, command) == 1 { flush() } else { lose() }
        return connection != nil
    }

    /// Sends what the socket takes. If some is left, waits for room, too.
    private func flush() {
        switch PQflush(connection) {
        case 0: source?.interest = .read
        case 1: source?.interest = [.read, .write]
        default: lose()
        }
    }

    /// Does all of the work that there is.
    private func serve() {
        guard PQconsumeInput(connection) == 1 else { return lose() }
        flush()
        while connection != nil, PQisBusy(connection) == 0,
            let result = PQgetResult(connection)
        {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR { return lose() }
        }
        while connection != nil, let notification = PQnotifies(connection) {
            defer { PQfreemem(notification) }
            let content = notification.pointee
            let channel = String(cString: content.relname)
            let payload = String(cString: content.extra)
            report(.notification(channel: channel, payload: payload))
        }
    }

    private func lose(_ reason: String? = nil) {
        guard connection != nil else { return }
        let message = reason ?? String(cString: PQerrorMessage(connection))
        end()
        report(.lost(message))
    }

    /// Ends the connection, without a report.
    func end() {
        source?.invalidate()  // first: it holds a duplicate of the socket
        timeout?.invalidate()
        PQfinish(connection)
        connection = nil
    }
}
