// Threads that make sources, block signals, send them or are interrupted.

import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Sources that are made late, on any thread, whatever that blocks.
func anyThread() throws {
    let thread = try LoopThread(name: "earlier")
    let source = try thread.performAndWait {
        let source = try makeSource("made on a worker")
        Loop.current.add(source)
        return source
    }
    send(SIGUSR1)
    try thread.performAndWait { Loop.current.run(mode: .default, for: .zero) }
    thread.perform { changeMask(SIG_BLOCK, SIGUSR2) }
    try thread.performAndWait {}
    let late = try makeSource("made later", SIGUSR2)
    loop.add(late)
    send(SIGUSR2)
    look()
    try thread.performAndWait {
        let third = try makeSource("made where the signal is blocked", SIGUSR2)
        print("blocked there: \(isBlocked(SIGUSR2))")
        third.invalidate()
    }
    source.invalidate()
    thread.stop()
}

/// In a program whose threads all block the signal, as one started by a thread of Dispatch.
func blockedEverywhere() throws {
    changeMask(SIG_BLOCK, SIGUSR1)
    let thread = try LoopThread(name: "other")  // inherits that
    send(SIGUSR1)
    let source = try makeSource("pending")
    print("blocked: \(isBlocked(SIGUSR1)), there: \(try thread.performAndWait { isBlocked(SIGUSR1) })")
    loop.add(source)
    look()
    send(SIGUSR1)
    look()
}

nonisolated(unsafe) var readingThread: pthread_t?

/// A system call that a thread waits in is restarted.
func restartedCalls() throws {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let hasBegun = Atomic<Bool>(false)
    let thread = try LoopThread(name: "reads")
    thread.perform {
        readingThread = pthread_self()
        hasBegun.store(true, ordering: .sequentiallyConsistent)
        var byte: UInt8 = 0
        let count = read(reader, &byte, 1)
        print("read: \(count)")
    }
    while !hasBegun.load(ordering: .sequentiallyConsistent) { sched_yield() }
    let heard = LoopBound(0, on: loop)
    let source = try Source(SIGUSR1) { _, arrivals in heard.value += arrivals.count }
    loop.add(source)
    for _ in 0..<50 {
        pthread_kill(readingThread!, SIGUSR1)
        loop.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    }
    print("heard: \(heard.value)")
    writeByte(writer, 1)
    thread.stop()
    thread.join()
}

/// Each of many real-time signals that several threads get at once is heard once by each of two sources, while other
/// sources for the signal come and go, and pipes of the program's too.
func contended() throws {
    let (threads, perThread) = (4, 500)
    let isOver = Atomic<Bool>(false)
    let values = LoopBound<[[Int32]]>([[], []], on: loop)
    let sources = try (0..<2).map { index in
        try Source(realTime) { _, arrivals in values.value[index] += arrivals.map(\.value) }
    }
    for source in sources { loop.add(source) }
    // Descriptors that a late write would reach.
    let strays = Atomic<Int>(0)
    let others = try (0..<2).map { number in try LoopThread(name: "changes \(number)") }
    for thread in others {
        thread.perform {
            while !isOver.load(ordering: .relaxed) {
                let passing = try! makeSource("passing", realTime)
                passing.invalidate()
                var ends: [Int32] = [0, 0]
                precondition(pipe(&ends) == 0)
                var request = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
                if poll(&request, 1, 0) > 0 { strays.add(1, ordering: .relaxed) }
                close(ends[0])
                close(ends[1])
            }
        }
    }
    let senders = try (0..<threads).map { number in try LoopThread(name: "sends \(number)") }
    for (number, thread) in senders.enumerated() {
        thread.perform {
            for index in 0..<perThread {
                let value = sigval(sival_int: Int32(number * perThread + index))
                while sigqueue(getpid(), realTime, value) != 0 { sched_yield() }
            }
        }
    }
    while values.value.contains(where: { $0.count < threads * perThread }) {
        loop.run(mode: .default, for: .seconds(10), returnAfterSourceHandled: true)
    }
    isOver.store(true, ordering: .relaxed)
    for thread in senders + others {
        thread.stop()
        thread.join()
    }
    look()
    for heard in values.value { print(heard.sorted() == (0..<Int32(threads * perThread)).map { $0 }) }
    print("strays: \(strays.load(ordering: .relaxed))")
    withExtendedLifetime(sources) {}
}

/// The content of `/proc` about one of this process's threads.
func status(ofThread number: Int32) -> String {
    let file = open("/proc/self/task/\(number)/status", O_RDONLY)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
}

/// The initial thread has been given away, as by `dispatchMain()`, and still exists as a zombie that blocks nothing.
func withoutInitialThread() throws -> Never {
    let thread = try LoopThread(name: "other")
    thread.perform {
        while !status(ofThread: getpid()).contains("State:\tZ") { sched_yield() }
        do {
            let source = try makeSource("heard")
            Loop.current.add(source, in: .default)
            send(SIGUSR1)
            Loop.current.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
        } catch {
            print(error)
        }
        exit(0)
    }
    pthread_exit(nil)
}

/// A signal for one thread arrives, whichever loop has the source.
func toOneThread() throws {
    let source = try makeSource("heard")
    let thread = try LoopThread(name: "other")
    thread.loop.add(source, in: .default)
    try thread.performAndWait {
        pthread_kill(pthread_self(), SIGUSR1)
        Loop.current.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    }
    thread.stop()  // with the source on it
}
