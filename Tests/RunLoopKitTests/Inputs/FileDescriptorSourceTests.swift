import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Descriptors among the other inputs of a loop, in a hosted one, and with many threads.
@Suite(.timeBound) struct FileDescriptorSourceTests {
    private typealias Source = Loop.FileDescriptorSource

    @Test("Virtual time waits for a ready descriptor")
    func virtualTimeWaits() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { _, _ in log.add("\(pipe.take()!) at \(clock.now)") }
        loop.add(source, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in pipe.send("x") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(2)) { _ in Loop.current.stop() }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(9)) == .stopped)
        #expect(log.entries == ["x at \(seconds(1))"])
    }

    @Test("More ready descriptors than one fetch takes are all served")
    func manyReadyDescriptors() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<(3 * Poller.capacity)).map { _ in Ends.pipe() }
        let log = Log<Int>()
        for (index, pipe) in pipes.enumerated() {
            let source = try Source(pipe.reader) { _, _ in
                _ = pipe.take()
                log.add(index)
            }
            loop.add(source, in: .default)
            pipe.send("a")
        }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.sorted() == Array(pipes.indices))
    }

    @Test("A descriptor that stays ready does not delay others")
    func busyDescriptor() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let port = try Loop.PortSource { _ in log.add("port") }
        let busy = try Source(pipe.reader) { _, _ in
            log.add("busy")
            clock.advance(by: .seconds(1))
        }
        loop.add(busy, in: .default)
        loop.add(port, in: .default)
        loop.add(Loop.Timer(after: .seconds(3)) { _ in log.add("timer") }, in: .default)
        pipe.send("a")
        port.send()
        loop.run(mode: .default, for: .seconds(6))
        #expect(Set(log.entries) == ["busy", "port", "timer"])
    }

    @Test("A host sees the loop readable for as long as the descriptor is")
    func hostedDescriptor() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { _, _ in log.add(pipe.take(2) ?? "nothing") }
        let descriptor = try loop.hosting.begin()
        func serve() -> [Loop.HostedResult] {
            var results: [Loop.HostedResult] = []
            while System.isReadable(descriptor), results.count < 100 { results.append(loop.hosting.pass()) }
            return results
        }
        loop.add(source, in: .default)
        _ = serve()
        pipe.send("abc")
        #expect(serve() == [.more, .idle])
        // The pass found it, and other code read it while the host slept.
        pipe.send("defg")
        #expect(loop.hosting.pass() == .more)
        _ = pipe.take()
        #expect(serve() == [.idle])
        #expect(log.entries == ["ab", "c", "de"])
        loop.hosting.end()
    }

    @Test("The description shows what is watched")
    func description() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let source = try Source(pipe.reader, interest: [.read, .priority], isOneShot: true) { _, _ in }
        source.disarm()
        loop.add(source, in: .default)
        #expect("\(loop)".contains("): read|priority, level-triggered, one-shot, disarmed"))
    }

    @Test("Many threads may change a source while it is served")
    func manyThreads() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        pipe.send("a")
        let calls = Count()
        let source = try Source(pipe.reader) { _, _ in calls.up() }
        thread.loop.add(source, in: .common)
        let workers = try (0..<3).map { index in
            let worker = try LoopThread()
            worker.perform {
                for round in 0..<300 {
                    switch (index + round) % 4 {
                    case 0: source.disarm()
                    case 1: source.interest = [.write]
                    case 2: thread.loop.remove(source, in: .common)
                    default: thread.loop.add(source, in: .common)
                    }
                }
            }
            return worker
        }
        for worker in workers {
            worker.stop()
            worker.join()
        }
        thread.loop.add(source, in: .common)
        source.interest = .read
        source.rearm()
        let before = calls.value
        spin(until: calls.value > before + 1)
        source.invalidate()
    }
}
