import CLinux
import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What a peer can do that means harm. SECURITY.md names the bounds.
@Suite(.timeBound) struct HostilePeerTests {
    private typealias Event = Loop.Connection.Event

    @Test("A peer that never pauses delays others by one piece of what it sends")
    func flood() throws {
        let (loop, log) = (Loop.inVirtualTime().0, Log<String>())
        let (flooding, quiet) = (Ends.sockets(), Ends.sockets())
        @Sendable func flood() { while flooding.sendsAll([UInt8](repeating: 0, count: 65_536)) {} }
        let flooded = try Loop.Connection(owning: flooding.reader) { _, event in
            guard case .received(let bytes) = event else { return }
            #expect(bytes.count <= 65_536)
            log.add("flood")
            flood()
        }
        let other = try Loop.Connection(owning: quiet.reader) { _, event in
            if case .received = event { log.add("quiet") }
        }
        (flooding.isReaderClosed, quiet.isReaderClosed) = (true, true)
        for connection in [flooded, other] { loop.add(connection) }
        flood()
        loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true)
        quiet.send("a")
        loop.perform(in: .default) { log.add("block") }
        let timer = Loop.Timer(after: .zero) { _ in log.add("timer") }
        loop.add(timer)
        for _ in 0..<6 { loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true) }
        let others = log.entries.filter { $0 != "flood" }
        #expect(Set(others) == ["block", "timer", "quiet"] && others.count == 3, "\(log.entries)")
        // The listed entries are served in turn: at most one more piece comes before the quiet one.
        let before = log.entries.prefix { $0 != "quiet" }.filter { $0 == "flood" }
        #expect(before.count <= 2, "\(log.entries)")
        for connection in [flooded, other] { connection.invalidate() }
    }

    @Test("Descriptors that a peer sends along are closed")
    func descriptors() throws {
        let (loop, log) = (Loop.inVirtualTime().0, Log<Event>())
        let (ends, pipe) = (Ends.sockets(), Ends.pipe())
        let connection = try Loop.Connection(owning: ends.reader) { _, event in log.add(event) }
        ends.isReaderClosed = true
        loop.add(connection)
        sendDescriptor(pipe.writer, over: ends.writer)
        pipe.closeWriter()
        #expect(pipe.take() == nil, "it is on its way")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.received([7])])
        pipe.waitUntilWriterIsGone()
        connection.invalidate()
    }

    @Test("Urgent data is left out, and keeps no loop busy")
    func urgentData() throws {
        try onThreadOfItsOwn {
            let (loop, ends, log) = (Loop.current, Ends.connection(), Log<Event>())
            let connection = try Loop.Connection(owning: ends.reader) { connection, event in
                log.add(event)
                if case .peerFinished = event { connection.end() }
                if case .closed = event { Loop.current.stop() }
            }
            ends.isReaderClosed = true
            loop.add(connection)
            ends.send("a")
            sendOutOfBand(ends.writer)
            waitUntilUrgent(connection.descriptor)
            let waits = loop.counters.waits
            ends.send("b")
            finishWriting(ends.writer)
            loop.run()
            let bytes = log.entries.flatMap { if case .received(let bytes) = $0 { bytes } else { [UInt8]() } }
            #expect(bytes == Array("ab".utf8) && log.entries.last == .closed(nil))
            #expect(loop.counters.waits - waits < 10)
        }
    }

    @Test("The name of a peer moves no terminal's cursor")
    func names() throws {
        let (loop, log) = (Loop.inVirtualTime().0, Log<String>())
        let path = "\0RunLoopKit-\(UInt64.random(in: 0 ... .max))"
        let listener = try Loop.Listener(.unix(path)) { _, connection in
            log.add("\(connection.peerAddress!)")
            connection.invalidate()
        }
        loop.add(listener)
        let peer = connected(from: "\0\u{1B}[2J\n\(path.dropFirst())", to: path)
        loop.run(mode: .default, for: .seconds(1))
        let name = try #require(log.entries.first)
        #expect(name.hasPrefix("@\\u{1B}[2J\\n") && name.utf8.allSatisfy { $0 >= 0x20 }, "\(name)")
        close(peer)
        listener.end()
    }
}

extension Ends {
    /// Whether there was room for all bytes.
    fileprivate func sendsAll(_ bytes: [UInt8]) -> Bool { write(writer, bytes, bytes.count) == bytes.count }
}

/// Sends a byte and a duplicate of a descriptor.
private func sendDescriptor(_ descriptor: Int32, over socket: Int32) {
    var byte = UInt8(7)
    // A cmsghdr, and its data in whole words.
    var control: (size: Int, level: Int32, type: Int32, descriptor: Int32, rest: Int32) =
        (20, SOL_SOCKET, Int32(SCM_RIGHTS), descriptor, 0)
    withUnsafeMutablePointer(to: &byte) { byte in
        var part = iovec(iov_base: byte, iov_len: 1)
        withUnsafeMutablePointer(to: &part) { part in
            withUnsafeMutablePointer(to: &control) { control in
                var message = msghdr()
                message.msg_iov = part
                message.msg_iovlen = 1
                message.msg_control = UnsafeMutableRawPointer(control)
                message.msg_controllen = 24
                #expect(sendmsg(socket, &message, 0) == 1)
            }
        }
    }
}

/// A Unix socket with a name, connected to a listener.
private func connected(from name: String, to path: String) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    named(descriptor, System.Address.unix(Array(name.utf8)).bytes) { bind($0, $1, $2) }
    named(descriptor, System.Address.unix(Array(path.utf8)).bytes) { connect($0, $1, $2) }
    return descriptor
}

private func named(
    _ descriptor: Int32, _ address: [UInt8], _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
) {
    address.withUnsafeBytes {
        let pointer = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
        #expect(call(descriptor, pointer, socklen_t(address.count)) == 0)
    }
}
