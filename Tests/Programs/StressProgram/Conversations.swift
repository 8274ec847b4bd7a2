import RunLoopKit
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What a client sends: its number, and then bytes that follow from that. So a server knows the next byte.
final class Speech: Sendable {
    let number: Int
    /// The bytes that were accepted, without the number.
    let accepted = Sum()
    /// The bytes that have come back.
    let echoed = Sum()
    /// Whether a side has invalidated its connection, and bytes may be lost.
    let isCut = Atomic<Bool>(false)
    /// Whether the client has invalidated its connection, on the loop's thread.
    let isSilent = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)

    init(_ number: Int) { self.number = number }

    static let headerSize = 4

    static func byte(_ number: Int, _ index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (index ^ (index >> 8)) &* 7 &+ number)
    }

    var header: [UInt8] { (0..<Speech.headerSize).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }

    /// The next bytes to send.
    func piece(_ count: Int) -> [UInt8] {
        let start = accepted.value
        return (start..<start + count).map { Speech.byte(number, $0) }
    }

    /// Checks bytes that have come back.
    func checkEcho(_ bytes: [UInt8]) {
        let start = echoed.value
        let isRight = bytes.indices.allSatisfy { bytes[$0] == Speech.byte(number, start + $0) }
        expect(isRight, "an echo has other bytes, after \(start)")
        echoed.add(bytes.count)
    }
}

/// What a server has received of one client. Only the loop's thread uses it.
private final class Hearing: @unchecked Sendable {
    private(set) var number: Int?
    private(set) var count = 0
    private var header: [UInt8] = []

    /// Checks that bytes are the next ones, and returns them without the number.
    func hear(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        while number == nil, let byte = rest.popFirst() {
            header.append(byte)
            if header.count == Speech.headerSize {
                number = header.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
        }
        guard let number else { return [] }
        let isRight = zip(rest, count...).allSatisfy { $0 == Speech.byte(number, $1) }
        expect(isRight, "bytes of client \(number) are lost, doubled or out of order, after \(count)")
        count += rest.count
        return Array(rest)
    }
}

/// Clients on several threads connect to servers, send in pieces, and end: in order, half, or while much waits.
///
/// The laws: each byte that was sent before the end arrives once and in order, and comes back; nothing is reported
/// after an invalidation on the loop's thread, nor after the last event; and every connection comes to an end.
final class Conversations: Sendable {
    private let loops: [LoopThread]
    private let listeners: [Loop.Listener]
    private let speeches = Mutex<[Int: Speech]>([:])
    private let numbers = Atomic<Int>(0)
    private let servers = Sum()

    init() {
        let loops = (0..<2).map { _ in try! LoopThread(name: "conversations") }
        for loop in loops { StallWatchdog.watch(loop.loop, "a loop of conversations") }
        let addresses: [Loop.SocketAddress] = [
            .tcp(.loopback, port: 0), .unix("\0stress-\(getpid())-\(UInt64.random(in: 0 ... .max))"),
        ]
        self.loops = loops
        listeners = addresses.map { try! Loop.Listener($0) }
        for (listener, loop) in zip(listeners, loops) {
            listener.setHandler { [unowned self] _, connection in serve(connection) }
            loop.loop.add(listener)
        }
    }

    // MARK: A server

    /// Echoes, in one of several ways.
    private func serve(_ connection: Loop.Connection) {
        beat()
        servers.add(1)
        let hearing = Hearing()
        connection.setHandler { [unowned self] connection, event in
            beat()
            switch event {
            case .received(let bytes): received(bytes, connection, hearing)
            case .peerFinished:
                checkTheEnd(of: hearing)
                connection.finishSending()
            case .closed: servers.add(-1)
            case .connected: expect(false, "a server is told that it is connected")
            case .drained: break
            }
        }
        expect(Loop.current.add(connection), "a server is refused")
    }

    private func received(_ bytes: [UInt8], _ connection: Loop.Connection, _ hearing: Hearing) {
        let new = hearing.hear(bytes)
        if let number = hearing.number, number % 8 == 7, hearing.count > 20_000 {
            // A server that breaks off.
            speech(number).isCut.store(true, ordering: .sequentiallyConsistent)
            servers.add(-1)
            return connection.invalidate()
        }
        connection.send(new)
        guard let number = hearing.number, number % 3 == 0, hearing.count % 5 == 0 else { return }
        // A slow one: the client's bytes wait.
        connection.isReceiving = false
        Loop.current.add(Loop.Timer(after: .microseconds(300)) { _ in connection.isReceiving = true })
    }

    private func checkTheEnd(of hearing: Hearing) {
        guard let number = hearing.number else { return }
        let speech = speech(number)
        guard !speech.isCut.load(ordering: .sequentiallyConsistent) else { return }
        expect(
            hearing.count == speech.accepted.value,
            "\(hearing.count) bytes of client \(number) arrived, \(speech.accepted.value) were sent")
    }

    private func speech(_ number: Int) -> Speech { speeches.withLock { $0[number]! } }

    // MARK: A client

    /// Connects, sends and ends. On any thread.
    func speak(_ random: inout SplitMix) {
        beat()
        let speech = Speech(numbers.add(1, ordering: .relaxed).newValue)
        speeches.withLock { $0[speech.number] = speech }
        let thread = loops[random.below(2)]
        let ending = random.below(4)
        let client = try! Loop.Connection(connectingTo: listeners[random.below(2)].address!)
        client.setHandler { connection, event in
            beat()
            expect(!speech.isSilent.load(ordering: .relaxed), "\(event) after an invalidation on the loop's thread")
            expect(!speech.isOver.load(ordering: .relaxed), "\(event) after the last event")
            switch event {
            case .received(let bytes): speech.checkEcho(bytes)
            case .closed(let error):
                let isCut = speech.isCut.load(ordering: .sequentiallyConsistent)
                expect(error == nil || isCut, "client \(speech.number) is closed: \(error!)")
                if ending < 2, !isCut {
                    expect(
                        speech.echoed.value == speech.accepted.value,
                        "\(speech.echoed.value) bytes came back, \(speech.accepted.value) were sent")
                }
                speech.isOver.store(true, ordering: .sequentiallyConsistent)
            case .connected, .peerFinished, .drained: break
            }
        }
        let isAddedFirst = random.once(in: 2)
        if isAddedFirst { thread.loop.add(client) }
        expect(client.send(speech.header), "the first bytes are refused")
        for _ in 0..<random.below(12) {
            let piece = speech.piece(1 + random.below(random.once(in: 4) ? 60_000 : 400))
            // Counted before the server can see it; taken back if it is refused.
            speech.accepted.add(piece.count)
            if !client.send(piece) { speech.accepted.add(-piece.count) }
            if random.once(in: 4) { sched_yield() }
        }
        if !isAddedFirst { thread.loop.add(client) }
        end(client, speech, ending, thread)
    }

    private func end(_ client: Loop.Connection, _ speech: Speech, _ ending: Int, _ thread: LoopThread) {
        switch ending {
        case 0, 1: client.finishSending()
        case 2: client.end()
        default:
            speech.isCut.store(true, ordering: .sequentiallyConsistent)
            thread.perform {
                client.invalidate()
                speech.isSilent.store(true, ordering: .relaxed)
                speech.isOver.store(true, ordering: .sequentiallyConsistent)
            }
        }
        if ending < 3 { expect(!client.send([1]), "bytes are accepted after the end") }
    }

    // MARK: The end

    /// Waits until all has been said and heard, and ends the servers. After the threads that speak have finished.
    func finish() {
        let all = speeches.withLock { Array($0.values) }
        wait(for: "clients to be closed") { all.allSatisfy { $0.isOver.load(ordering: .sequentiallyConsistent) } }
        for (listener, loop) in zip(listeners, loops) { try! loop.performAndWait { listener.end() } }
        wait(for: "servers to be closed") { servers.value == 0 }
        for listener in listeners { expect(!listener.isValid, "a listener is valid after its end") }
        for loop in loops {
            loop.stop()
            loop.join()
        }
    }
}
