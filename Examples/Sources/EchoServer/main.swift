// A TCP server that sends back what it receives, and closes connections that are idle.
//
//     EchoServer [--port PORT] [--idle MILLISECONDS]
//     EchoServer --self-test CONNECTIONS
//
// The self-test connects to itself: each connection is served, and then all are ended. A server has a descriptor for
// each connection; the self-test has two, for its clients are in the same process.
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
    let server = try EchoServer(port: port, idleTime: idleTime)
    let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, _ in Loop.main.stop() }
    Loop.main.add(ends, in: .common)
    print("listening on port \(server.port)")
    Loop.main.run()
    server.end { Loop.main.stop() }
    Loop.main.run()
    print("ended, with \(server.connections.count) connections")
}

@MainActor func selfTest(connections wanted: Int) async throws {
    let count = min(wanted, (raiseDescriptorLimit() - 50) / 2)
    if count < wanted { print("the limit of descriptors allows \(count) connections") }
    let server = try EchoServer(port: 0, idleTime: .seconds(3600))
    let clients = try LoopThread(name: "clients")
    let (echoes, gotEcho) = AsyncStream.makeStream(of: Void.self)
    var nextEcho = echoes.makeAsyncIterator()
    for number in 1...count {
        let text = Array("I am number \(number)".utf8)
        let client = try Loop.Connection(connectingTo: .tcp(.loopback, port: server.port)) { client, event in
            if event == .received(text) { gotEcho.yield() }
            if event == .peerFinished { client.end() }
        }
        client.send(text)
        clients.loop.add(client, in: .common)
        await nextEcho.next()
    }
    print("served \(server.connections.count) connections")
    server.connections.end(within: .seconds(60))
    try await server.connections.waitForEnd()
    print("closed \(count) connections; \(server.connections.count) are left")
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
