import CLinux
import Foundation

/// All clients of a server: one thread, on system calls alone, in a process of its own.
enum EchoClient {
    /// The argument that makes this program the client.
    static let command = "echo-client"

    /// Starts the client's process, and returns what it has measured, in nanoseconds.
    static func run(
        _ transport: EchoSocket.Transport, _ address: String, connections: Int, requests: Int
    ) -> (mean: Int64, p99: Int64) {
        let client = Process()
        client.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        client.arguments = [command, transport.rawValue, address, "\(connections)", "\(requests)"]
        let output = Pipe()
        client.standardOutput = output
        try! client.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        client.waitUntilExit()
        let figures = text.split(whereSeparator: \.isWhitespace).compactMap { Int64($0) }
        precondition(figures.count == 2, "the client has failed: \(text)")
        return (figures[0], figures[1])
    }

    static func main(_ arguments: [String]) {
        EchoSocket.allowDescriptors()
        let (transport, address) = (EchoSocket.Transport(rawValue: arguments[0])!, arguments[1])
        let (count, requests) = (Int(arguments[2])!, Int(arguments[3])!)
        let clients = Clients((0..<count).map { _ in EchoSocket.connect(transport, address) })
        clients.exchange(count)
        let start = monotonicNow()
        clients.exchange(requests)
        let elapsed = monotonicNow() - start
        print(elapsed / Int64(requests), Samples(clients.times).percentile(99))
    }
}

private final class Clients {
    private let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    private let descriptors: [Int32]
    private var sentAt: [Int32: Int64] = [:]
    private var events = [epoll_event](repeating: epoll_event(), count: 256)
    private(set) var times: [Int64] = []

    init(_ descriptors: [Int32]) {
        self.descriptors = descriptors
        for descriptor in descriptors {
            var event = epoll_event()
            event.events = CLINUX_EPOLLIN
            event.data.fd = descriptor
            check("epoll_ctl", epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event))
        }
    }

    /// Sends so many messages, and gets all back. `times` are those of this exchange.
    func exchange(_ count: Int) {
        times.removeAll()
        times.reserveCapacity(count)
        var unsent = count
        for descriptor in descriptors.prefix(count) {
            send(descriptor)
            unsent -= 1
        }
        while times.count < count {
            let found = Int(check("epoll_wait", epoll_wait(poll, &events, Int32(events.count), -1)))
            for event in events[..<found] {
                receive(event.data.fd)
                guard unsent > 0 else { continue }
                send(event.data.fd)
                unsent -= 1
            }
        }
    }

    private func send(_ descriptor: Int32) {
        sentAt[descriptor] = monotonicNow()
        withUnsafeTemporaryAllocation(byteCount: EchoSocket.messageSize, alignment: 8) {
            $0.initializeMemory(as: UInt8.self, repeating: 1)
            precondition(write(descriptor, $0.baseAddress, $0.count) == $0.count)
        }
    }

    private func receive(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: EchoSocket.messageSize, alignment: 8) {
            precondition(read(descriptor, $0.baseAddress, $0.count) == $0.count, "a message came in pieces")
        }
        times.append(monotonicNow() - sentAt[descriptor]!)
    }
}
