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

/// What remains of a thread that ends in an unusual way.
@Suite(.timeBound) struct EndingThreadTests {
    /// The C library calls the destructors of thread-specific values in up to four rounds, in any order.
    @Test("Destructors that ask for the loop in each round find one that has ended")
    func destructorsFindAnEndedLoop() throws {
        for roundOfLoop in [true, false] {
            let seen = Log<String>()
            // Before the library's own key is used on the thread, or after.
            try endThread { key in
                if roundOfLoop { _ = Loop.current }
                pthread_setspecific(key, Unmanaged.passRetained(seen).toOpaque())
                if !roundOfLoop { _ = Loop.current }
            }
            #expect(seen.entries.count == Self.rounds)
            #expect(seen.entries.dropFirst().allSatisfy { $0 == "refused, finished, owns no descriptor" })
        }
    }

    /// The thread's state is new at each look then: what a run changes in it has to be changed back in the same object.
    @Test("Destructors after the loop's end may run and host loops of their own")
    func destructorsRunOwnLoops() throws {
        let seen = Log<String>()
        seen.add("runs loops of its own")
        try endThread { key in
            _ = Loop.current
            pthread_setspecific(key, Unmanaged.passRetained(seen).toOpaque())
        }
        #expect(
            seen.entries.filter { $0.hasSuffix("ran") }
                == Array(repeating: "timedOut, finished, both blocks ran", count: Self.rounds))
    }

    private static func runOwnLoops() -> String {
        let (loop, ran) = (Loop(clock: VirtualClock()), Count())
        loop.perform { ran.up() }
        let run = loop.run(for: .zero)
        _ = try! loop.hosting.begin()
        loop.perform { ran.up() }
        let pass = loop.hosting.pass()
        loop.hosting.end()
        loop.end()
        return "\(run), \(pass), \(ran.value == 2 ? "both blocks" : "not all") ran"
    }

    /// In the last round ThreadSanitizer has released its state for the thread, and crashes in this test's destructor.
    private static let rounds = isUnderThreadSanitizer ? 3 : 4

    /// A key whose destructor accesses the loop, and sets the value again.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { value in
            #if canImport(Android)
                guard let value else { return }
            #else
                guard let value: UnsafeMutableRawPointer = value else { return }
            #endif
            let log = Unmanaged<Log<String>>.fromOpaque(value).takeUnretainedValue()
            let runsOwnLoops = log.entries.first == "runs loops of its own"
            if runsOwnLoops { log.add(EndingThreadTests.runOwnLoops()) }
            let loop = Loop.current
            let isAccepted = loop.perform {}
            let result = loop.run(mode: .default, for: .zero)
            let ownsDescriptor = loop.waker.descriptor >= 0
            log.add(
                "\(isAccepted ? "accepted" : "refused"), \(result), owns \(ownsDescriptor ? "a" : "no") descriptor")
            if log.entries.count < EndingThreadTests.rounds * (runsOwnLoops ? 2 : 1) {
                pthread_setspecific(EndingThreadTests.key, value)
            } else {
                Unmanaged<Log<String>>.fromOpaque(value).release()
            }
        }
        return key
    }()

    private func endThread(_ body: @escaping @Sendable (pthread_key_t) -> Void) throws {
        let key = Self.key
        System.join(try System.startThread(stackSize: nil) { body(key) })
    }

    /// The thread never reaches the end of its run: time would stop for the other loops.
    @Test(
        "A thread that exits inside a virtual run does not hold the time",
        .disabled(if: Kernel.hasSanitizer, "what the frames of exited threads hold is leaked"),
        arguments: [false, true])
    func exitInAVirtualRun(_ isLoopThreads: Bool) throws {
        let clock = VirtualClock()
        let left = Log<String>()
        let exits: @Sendable () -> Void = { pthread_exit(nil) }
        if isLoopThreads {
            let worker = try LoopThread(name: "exits", clock: clock)
            worker.loop.onEnd { left.add("end") }
            worker.perform(exits)
            worker.join()
        } else {
            System.join(
                try System.startThread(stackSize: nil) {
                    let loop = Loop(clock: clock)
                    loop.onEnd { left.add("end") }
                    loop.perform(exits)
                    loop.run()
                })
        }
        #expect(left.entries == ["end"])
        try onThreadOfItsOwn {
            let loop = Loop(clock: clock)
            loop.add(Loop.Timer(after: .seconds(3600)) { _ in loop.stop() })
            #expect(loop.run(for: .seconds(7200)) == .stopped)
        }
    }

    /// Two threads may notice at the same time that the main loop has ended; so may any two threads that end a loop.
    @Test("A loop that two threads end at once is ended once")
    func endedByTwoThreads() throws {
        for _ in 0..<200 {
            let ends = Count()
            let loop = Loop(clock: .monotonic, owner: ThreadLoops.current.id)
            try loop.prepare(.default)
            loop.onEnd { ends.up() }
            try inParallel({ loop.end(tellingSources: true) }, { loop.end(tellingSources: true) })
            #expect(ends.value == 1)
            #expect(loop.waker.descriptor == -1)
        }
    }
}
