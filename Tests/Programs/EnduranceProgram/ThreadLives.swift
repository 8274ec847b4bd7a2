import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Threads with loops begin, do something of each kind, and end: `LoopThread`s that are stopped or dropped, and threads
/// of the C library.
final class ThreadLives: Scenario, @unchecked Sendable {
    let probed = try! LoopThread(name: "probed")
    private let count: Int
    private let calls = Calls()
    /// The process's threads before the first window. Accessed by the thread that plays.
    private var threads: Int?

    /// Of all threads' loops.
    final class Calls: Sendable {
        let blocks = Atomic<Int>(0), timers = Atomic<Int>(0), sends = Atomic<Int>(0), plain = Atomic<Int>(0)
    }

    init(count: Int) { self.count = count }

    func play(_ window: Int, of windows: Int) {
        if threads == nil { threads = OwnProcess.threads }
        var rest = share(count, window, of: windows)
        while !rest.isEmpty {
            let alive = rest.prefix(8)
            rest = rest.dropFirst(8)
            let plain = alive.filter { $0 % 8 == 7 }.map { _ in PlainThread(calls) }
            let threads = alive.filter { $0 % 8 != 7 }.map { _ in begin() }
            // A loop that ends takes no items any more.
            for thread in threads { try! thread.performAndWait {} }
            for thread in threads { thread.perform { [calls] in calls.blocks.add(1, ordering: .relaxed) } }
            for thread in threads { thread.stop() }
            for thread in threads.prefix(4) { thread.join() }
            for thread in plain { thread.join() }
        }
        // Dropped threads end by themselves, and the kernel lists a thread until a moment after its end.
        while OwnProcess.threads > threads! { usleep(100) }
    }

    /// The events of one loop. Accessed on its thread.
    private final class Seen: @unchecked Sendable { var count = 0 }

    private func begin() -> LoopThread {
        let thread = try! LoopThread(name: "brief")
        let (calls, seen) = (calls, Seen())
        thread.perform {
            let loop = Loop.current
            let port = try! Loop.PortSource { count in
                calls.sends.add(count, ordering: .relaxed)
                seen.count += 1
            }
            loop.add(port, in: .common)
            port.send()
            let timer = Loop.Timer(after: .zero) { _ in
                calls.timers.add(1, ordering: .relaxed)
                seen.count += 1
            }
            loop.add(timer, in: .common)
            while seen.count < 2 { loop.run(mode: .default, for: .milliseconds(1)) }
        }
        return thread
    }

    func finish() -> [String] {
        probed.stop()
        probed.join()
        let plain = (0..<count).count { $0 % 8 == 7 }
        return compare(calls.blocks.load(ordering: .relaxed), count - plain, "blocks")
            + compare(calls.timers.load(ordering: .relaxed), count - plain, "timers")
            + compare(calls.sends.load(ordering: .relaxed), count - plain, "sends")
            + compare(calls.plain.load(ordering: .relaxed), plain, "threads of the C library")
    }
}

/// A thread of the C library, whose loop calls a timer and ends with it.
private struct PlainThread {
    private let thread: pthread_t

    init(_ calls: ThreadLives.Calls) {
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t! = nil
        #endif
        let argument = Unmanaged.passRetained(calls).toOpaque()
        let code = pthread_create(&thread, nil, PlainThread.main, argument)
        precondition(code == 0, "no thread: error \(code)")
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        let calls = Unmanaged<ThreadLives.Calls>.fromOpaque(argument!).takeRetainedValue()
        let loop = Loop.current
        loop.add(Loop.Timer(after: .zero) { _ in calls.plain.add(1, ordering: .relaxed) })
        while loop.run(mode: .default, for: .seconds(60)) != .finished {}
        return nil
    }
}
