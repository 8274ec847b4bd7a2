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

/// `readHangUp` and `exclusive`, and what the kernel permits of them.
@Suite(.timeBound) struct FileDescriptorOptionTests {
    private typealias Source = Loop.FileDescriptorSource

    // MARK: EPOLLRDHUP

    @Test("A half-closed peer is noticed by a source that does not read")
    func halfClosed() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader, interest: .readHangUp) { source, ready in
            log.add(ready)
            source.interest = .read
        }
        loop.add(source, in: .default)
        sockets.send("abc")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.isEmpty, "it does not wait for data")
        finishWriting(sockets.writer)
        loop.run(mode: .default, until: .distantPast)
        #expect(log.entries == [.readHangUp])
        loop.run(mode: .default, until: .distantPast)
        #expect(log.entries == [.readHangUp, [.readable, .readHangUp]])
        #expect(sockets.take() == "abc" && sockets.take() == "")
    }

    @Test("The end of the data is reported once by an edge-triggered source")
    func edge() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader, interest: .readHangUp, trigger: .edge) { _, ready in log.add(ready) }
        loop.add(source, in: .default)
        finishWriting(sockets.writer)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readHangUp])
    }

    // MARK: EPOLLEXCLUSIVE

    @Test("Every change of an exclusive interest reaches the kernel")
    func changes() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let source = try Source(sockets.reader, interest: []) { _, _ in }
        loop.add(source, in: .default)
        loop.add(source, in: .tracking)
        try loop.prepare(.default)
        try loop.prepare(.tracking)
        let watched = source.watches[0].descriptor
        let (exclusive, edge) = (PollEvents.exclusive, PollEvents.edge)
        #expect(exclusive.rawValue == 1 << 28 && edge.rawValue == 1 << 31)
        let steps: [(Source.Interest, PollEvents)] = [
            ([.read, .exclusive], [.read, exclusive]), ([.read, .write, .exclusive], [.read, .write, exclusive]),
            (.read, [.read, .readHangUp]), ([.write, .exclusive], [.write, exclusive]), (.exclusive, exclusive),
            ([], []),
            ([.read, .readHangUp, .exclusive], [.read, .readHangUp]), ([.priority, .exclusive], .priority),
        ]
        for (interest, events) in steps {
            source.interest = interest
            for mode in [Loop.Mode.default, .tracking] {
                let set = loop.lock.withLock { loop.state(for: mode).pollDescriptor }
                let entry = EpollSet.entries(of: set).first { $0.descriptor == watched }
                #expect(entry?.events == events.rawValue, "\(interest)")
            }
        }
        source.interest = [.read, .exclusive]
        #expect(loop.description.contains("read|exclusive"))
        source.disarm()
        source.rearm()
        sockets.send("a")
        #expect(loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource)
    }

    @Test("A change reports present readiness")
    func presentReadiness() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Source.Readiness>()
        let source = try Source(pipe.reader, interest: [.read, .exclusive], trigger: .edge) { _, ready in
            log.add(ready)
        }
        loop.add(source, in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        source.interest = [.read, .write, .exclusive]
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable, .readable])
    }

    @Test("Setting the present interest reports nothing again, and rearming does")
    func unchangedInterest() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader, trigger: .edge) { _, ready in log.add(ready) }
        loop.add(source, in: .default)
        sockets.send("abc")
        loop.run(mode: .default, for: .zero)
        source.interest = .read
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [.readable])
        source.rearm()
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [.readable, .readable])
        source.disarm()
        source.interest = [.read, .readHangUp]
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [.readable, .readable])
        source.rearm()
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [.readable, .readable, .readable])
    }

    @Test("An epoll set is watched, but not exclusively")
    func epollSet() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let set = try Poller()
        try set.add(pipe.reader, token: 1)
        let calls = Count()
        let source = try Source(set.descriptor, interest: [.read, .exclusive]) { source, _ in
            calls.up()
            source.invalidate()
        }
        loop.add(source, in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.value == 1)
    }

    @Test("Of two loops that wait for connections exclusively, one is woken")
    func oneLoopIsWoken() throws {
        let listener = Listener()
        let accepted = Count()
        let threads = try (0..<2).map { try LoopThread(name: "acceptor \($0)") }
        let ids = try threads.map { thread in
            try thread.performAndWait {
                let source = try! Source(listener.descriptor, interest: [.read, .exclusive]) { source, _ in
                    while true {
                        let connection = accept(source.descriptor, nil, nil)
                        guard connection >= 0 else { break }
                        close(connection)
                        accepted.up()
                    }
                }
                thread.loop.add(source, in: .default)
                return clinux_thread_id()
            }
        }
        /// A loop that is woken without need sleeps again, so this counts it.
        func waits() -> Int { threads.reduce(0) { $0 + $1.loop.counters.waits } }
        func waitUntilAsleep() {
            for (thread, id) in zip(threads, ids) {
                spin(until: thread.loop.waker.isAsleep && KernelThread.isAsleep(id))
            }
        }
        waitUntilAsleep()
        for number in 1...20 {
            let before = waits()
            let client = listener.connect()
            defer { close(client) }
            // The kernel has made the threads runnable that it wakes.
            spin(until: accepted.value == number)
            waitUntilAsleep()
            #expect(waits() == before + 1)
        }
        for thread in threads {
            thread.stop()
            thread.join()
        }
    }
}

/// A listening socket of the abstract namespace, which does not block.
private final class Listener: Sendable {
    let descriptor: Int32

    init() {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        #else
            let kind = Int32(SOCK_STREAM) | Int32(SOCK_CLOEXEC) | Int32(SOCK_NONBLOCK)
        #endif
        descriptor = socket(AF_UNIX, kind, 0)
        // An address without a name: the kernel chooses one.
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(bind(descriptor, $0, socklen_t(MemoryLayout<sa_family_t>.size)) == 0)
            }
        }
        precondition(listen(descriptor, 64) == 0)
    }

    deinit { close(descriptor) }

    func connect() -> Int32 {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #else
            let kind = Int32(SOCK_STREAM) | Int32(SOCK_CLOEXEC)
        #endif
        let client = socket(AF_UNIX, kind, 0)
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(getsockname(descriptor, $0, &size) == 0)
                #if canImport(Glibc)
                    precondition(Glibc.connect(client, $0, size) == 0)
                #elseif canImport(Musl)
                    precondition(Musl.connect(client, $0, size) == 0)
                #elseif canImport(Android)
                    precondition(Android.connect(client, $0, size) == 0)
                #endif
            }
        }
        return client
    }
}
