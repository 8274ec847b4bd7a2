// Prints the notifications of a PostgreSQL database. Needs libpq's development files (libpq-dev).
//
//     PostgresListener [--timeout MILLISECONDS] PARAMETERS CHANNEL …
//
// PARAMETERS are libpq's, such as "host=/run/postgresql dbname=jobs". If the connection is lost, or cannot be made in
// time (10 s), it is made again, later each time. Ctrl-C and SIGTERM end the program.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

@MainActor final class PostgresListener {
    private let parameters: String
    private let channels: [String]
    private let timeout: Duration
    private var connection: PostgresConnection?
    private var pauses = Loop.Backoff(from: .milliseconds(100), to: .seconds(10))

    init(parameters: String, channels: [String], timeout: Duration) throws {
        self.parameters = parameters
        self.channels = channels
        self.timeout = timeout
        let ends = try Loop.SignalSource([SIGTERM, SIGINT], isolation: .shared) { [unowned self] _, _ in
            connection?.end()
            Loop.main.stop()
        }
        Loop.main.add(ends, in: .common)
    }

    func connect() {
        let connection = PostgresConnection { [unowned self] in handle($0) }
        self.connection = connection
        connection.start(parameters, within: timeout)
    }

    private func handle(_ event: PostgresConnection.Event) {
        switch event {
        case .connected:
            pauses.reset()
            if connection!.send(channels.map { "listen \"\($0)\";" }.joined()) {
                print("listening on \(channels.joined(separator: ", "))")
            }
        case .notification(let channel, let payload):
            print("\(channel): \(payload)")
        case .lost(let message):
            print("lost: \(message.prefix { $0 != "\n" })")
            let pause = pauses.next()
            print("connecting again in \(pause)")
            let timer = Loop.Timer(after: pause, isolation: .shared) { [unowned self] _ in connect() }
            Loop.main.add(timer, in: .common)
        }
    }
}

var arguments = Array(CommandLine.arguments.dropFirst())
var timeout = Duration.seconds(10)
if arguments.count >= 2, arguments[0] == "--timeout", let milliseconds = Int(arguments[1]) {
    timeout = .milliseconds(milliseconds)
    arguments.removeFirst(2)
}
guard arguments.count >= 2, !arguments.contains(where: { $0.contains("\"") }) else {
    fputs("usage: PostgresListener [--timeout MILLISECONDS] PARAMETERS CHANNEL …\n", stderr)
    exit(64)
}
setvbuf(stdout, nil, Int32(_IOLBF), 0)  // whole lines, also into a pipe
signal(SIGPIPE, SIG_IGN)  // a server that ends shows as an error
let listener = try PostgresListener(
    parameters: arguments[0], channels: Array(arguments.dropFirst()), timeout: timeout)
listener.connect()
Loop.main.run()
print("ended")
