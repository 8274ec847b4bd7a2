import Foundation
import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// What the library says of handlers that leave their descriptors ready. In processes of their own, since how mistakes
/// are handled is one setting for the process.
@Suite(.timeBound) struct SpinTests {
    /// Runs until the handler was called so often, or a mistake is reported.
    private static func mistakes(
        calls: Int, in ends: Ends, _ handler: @escaping @Sendable (Loop.FileDescriptorSource) -> Void
    ) throws -> [Loop.Mistake] {
        try mistakes(calls: calls, of: ends.reader, .read, handler)
    }

    private static func mistakes(
        calls: Int, of descriptor: Int32, _ interest: Loop.FileDescriptorSource.Interest,
        _ handler: @escaping @Sendable (Loop.FileDescriptorSource) -> Void
    ) throws -> [Loop.Mistake] {
        let mistakes = Log<Loop.Mistake>()
        let loop = Loop(clock: VirtualClock())
        Loop.mistakeHandling = .call {
            mistakes.add($0)
            loop.stop()
        }
        let count = LoopBound(0, on: loop)
        let source = try Loop.FileDescriptorSource(descriptor, interest: interest, label: "input") { source, _ in
            count.value += 1
            if count.value == calls { loop.stop() }
            handler(source)
        }
        loop.add(source)
        loop.run()
        return mistakes.entries
    }

    @Test("A handler that reads nothing is reported, with its source and the way out", arguments: [false, true])
    func readsNothing(hasHungUp: Bool) async {
        await #expect(processExitsWith: .success) { [hasHungUp] in
            let ends = Ends.pipe()
            if hasHungUp { ends.hangUp() } else { ends.send("x") }
            // A call that is preempted does not count, so there is no exact number.
            let found = try SpinTests.mistakes(calls: 10_000_000, in: ends) { _ in }
            guard case .descriptorLeftReady(let source, _)? = found.first else { _exit(1) }
            _exit(source.contains("\"input\"") && "\(found[0])".contains("spins") ? 0 : 2)
        }
    }

    @Test("After a hang-up a slow handler is reported, too")
    func slowAfterHangUp() async {
        await #expect(processExitsWith: .success) {
            let ends = Ends.pipe()
            ends.hangUp()
            let found = try SpinTests.mistakes(calls: 10_000, in: ends) { _ in usleep(20) }
            _exit(found.isEmpty ? 1 : 0)
        }
    }

    @Test("A handler that reads each time is not reported, although the descriptor is always ready")
    func readsEachTime() async {
        await #expect(processExitsWith: .success) {
            let ends = Ends.pipe()
            ends.send(String(repeating: "x", count: 30_000))
            let found = try SpinTests.mistakes(calls: 29_000, in: ends) { source in
                var byte: UInt8 = 0
                _ = read(source.descriptor, &byte, 1)
            }
            _exit(found.isEmpty ? 0 : 1)
        }
    }

    /// What a peer may do while a handler runs, so that the bytes are the same after each call.
    enum Peer: Int, CaseIterable, Codable, CustomTestStringConvertible {
        case sendsAgain, opensFIFOAgain, reads, readsFromPipe
        var testDescription: String { "\(self)" }
    }

    @Test("A handler whose peer is as fast, or comes anew, is not reported", arguments: Peer.allCases)
    func fastPeer(_ peer: Peer) async {
        await #expect(processExitsWith: .success) { [peer] in _exit(try SpinTests.isReported(with: peer) ? 1 : 0) }
    }

    private static func isReported(with peer: Peer) throws -> Bool {
        let ends = peer == .readsFromPipe ? Ends.pipe() : Ends.sockets()
        switch peer {
        case .sendsAgain:
            ends.send("x")
            return try !mistakes(calls: 20_000, in: ends) { _ in
                _ = ends.take(1)
                ends.send("x")
            }.isEmpty
        case .reads, .readsFromPipe:
            return try !mistakes(calls: 20_000, of: ends.writer, .write) { _ in
                ends.send("x")
                _ = ends.take(1)
            }.isEmpty
        case .opensFIFOAgain:
            let path = NSTemporaryDirectory() + "runloopkit-fifo-\(getpid())"
            mkfifo(path, 0o600)
            let reader = open(path, O_RDONLY | O_NONBLOCK)
            defer { unlink(path) }
            let sendAnew: @Sendable () -> Void = {
                let writer = open(path, O_WRONLY)
                write(writer, "x", 1)
                close(writer)
            }
            sendAnew()
            return try !mistakes(calls: 20_000, of: reader, .read) { _ in
                _ = readText(reader, 1)
                sendAnew()
            }.isEmpty
        }
    }

    @Test("A handler that writes nothing to a socket is reported")
    func writesNothing() async {
        await #expect(processExitsWith: .success) {
            let ends = Ends.sockets()
            let found = try SpinTests.mistakes(calls: 10_000_000, of: ends.writer, .write) { _ in }
            _exit(found.isEmpty ? 1 : 0)
        }
    }
}
