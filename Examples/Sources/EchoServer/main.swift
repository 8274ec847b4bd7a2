// A TCP server that sends back what it receives, and closes connections that are idle.
//
//     EchoServer [--port PORT] [--idle MILLISECONDS]
//     EchoServer --self-test CONNECTIONS
//
// The self-test connects to itself: each connection is served, and then all are closed because they are idle. A server
// has a descriptor for each connection; the self-test has two, for its clients are in the same process.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

func usage() -> Never {
    fputs("usage: EchoServer [--port PORT] [--idle MILLISECONDS] | --self-test CONNECTIONS\n", stderr)
    exit(64)
}

/// Allows as many descriptors as the process may have. Returns how many.
func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_cur)
}

@MainActor func serve(port: UInt16, idleTime: Duration) throws {
    _ = raiseDescriptorLimit()
    let listener = try makeListener(port: port)
    let server = try EchoServer(listening: listener.socket, idleTime: idleTime)
    for signal in [SIGINT, SIGTERM] {
        let source = try Loop.SignalSource(signal, isolation: .shared) { _, _ in
            server.end()
            Loop.main.stop()
        }
        Loop.main.add(source, in: .common)
    }
    print("listening on port \(listener.port)")
    Loop.main.run()
    print("ended, with \(server.connections.count) connections")
}

@MainActor func selfTest(connections wanted: Int) async throws {
    let count = min(wanted, (raiseDescriptorLimit() - 50) / 2)
    if count < wanted { print("the limit of descriptors allows \(count) connections") }
    let listener = try makeListener(port: 0)
    let server = try EchoServer(listening: listener.socket, idleTime: .seconds(3600))
    // The clients wait in their system calls, on a thread of their own.
    let clients = try LoopThread(name: "clients")
    let sockets = try await clients.run {
        try (1...count).map { try connectAndEcho(port: listener.port, text: "I am number \($0)") }
    }
    print("served \(server.connections.count) connections")
    server.idleTime = .milliseconds(100)
    let closedCount = try await clients.run {
        var byte: UInt8 = 0
        return sockets.count { read($0, &byte, 1) == 0 }
    }
    print("closed \(closedCount) connections; \(server.connections.count) are left")
}

var port: UInt16 = 0
var idleTime = Duration.seconds(60)
var testedCount: Int?
var arguments = CommandLine.arguments.dropFirst()
while let option = arguments.popFirst() {
    guard let value = arguments.popFirst().flatMap({ Int($0) }), value >= 0 else { usage() }
    switch option {
    case "--port" where value <= UInt16.max: port = UInt16(value)
    case "--idle": idleTime = .milliseconds(value)
    case "--self-test" where value > 0: testedCount = value
    default: usage()
    }
}
setvbuf(stdout, nil, Int32(_IOLBF), 0)  // whole lines, also into a pipe
do {
    if let testedCount {
        try Loop.runMain { try await selfTest(connections: testedCount) }
    } else {
        try serve(port: port, idleTime: idleTime)
    }
} catch {
    fputs("EchoServer: \(error)\n", stderr)
    exit(1)
}
