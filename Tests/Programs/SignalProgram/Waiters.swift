// Threads that take signals in other ways: on alternate stacks, and by `sigwait`.

import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

// Not in the module of the C library.
@_silgen_name("gettid") private func threadNumber() -> pid_t
@_silgen_name("getauxval") private func auxiliaryValue(_ type: UInt) -> UInt

/// A thread with an alternate stack, as runtimes with small stacks have, uses that for the signal, and little of it.
func alternateStack() throws {
    let source = try makeSource("heard")
    loop.add(source)
    let size = 65536
    let untouched: UInt8 = 0xA5
    let thread = try LoopThread(name: "alternate stack")
    let (used, hasLeftIt) = try thread.performAndWait {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: untouched)
        var (new, old) = (stack_t(ss_sp: memory.baseAddress, ss_flags: 0, ss_size: size), stack_t())
        precondition(sigaltstack(&new, &old) == 0)
        pthread_kill(pthread_self(), SIGUSR1)
        precondition(sigaltstack(&old, &new) == 0)
        let used = size - (memory.firstIndex { $0 != untouched } ?? size)
        memory.deallocate()
        return (used, new.ss_flags & Int32(SS_ONSTACK) == 0)
    }
    // The frame of the kernel has the processor's registers, and is larger than all that the handler itself needs.
    let kernelFrame = max(Int(auxiliaryValue(51)), 2048)  // AT_MINSIGSTKSZ
    print("used: \(used > 0), and left: \(hasLeftIt)")
    print("fits into 4 KiB behind the kernel's frame: \(used < kernelFrame + 4096)")
    look()
    thread.stop()
    thread.join()
}

/// A thread that waits for SIGUSR1 by `sigwait`, which blocks it, as POSIX asks for.
private struct Waiter {
    let thread: LoopThread
    let number: Int32
    private let heard = SharedCount()

    var heardCount: Int { heard.value.load(ordering: .sequentiallyConsistent) }

    init() throws {
        thread = try LoopThread(name: "sigwait")
        number = try thread.performAndWait { threadNumber() }
        try thread.performAndWait { changeMask(SIG_BLOCK, SIGUSR1) }
    }

    /// Takes so many signals, and goes on.
    func take(_ count: Int) {
        thread.perform { [heard] in
            for _ in 0..<count {
                takeOne()
                heard.value.add(1, ordering: .sequentiallyConsistent)
            }
        }
    }
}

private final class SharedCount: Sendable { let value = Atomic<Int>(0) }

private func takeOne() {
    var (set, signal) = (sigset_t(), Int32(0))
    sigemptyset(&set)
    sigaddset(&set, SIGUSR1)
    precondition(sigwait(&set, &signal) == 0 && signal == SIGUSR1)
}

/// Waits until a thread sleeps in `sigwait`: the kernel has then removed the signal from those that it blocks.
private func waitForSleep(ofThread number: Int32) {
    while true {
        let line = status(ofThread: number).split(separator: "\n").first { $0.hasPrefix("SigBlk:") }!
        if UInt64(line.dropFirst(8), radix: 16)! & (1 << UInt64(SIGUSR1 - 1)) == 0 { return }
        sched_yield()
    }
}

/// Who gets a signal that has a source, and that a thread waits for. Linux takes a thread that sleeps in `sigwait`
/// or does not block it: the initial one if that is among them.
func waitedFor() throws {
    let heard = LoopBound(0, on: loop)
    let source = try Source(SIGUSR1) { _, arrivals in heard.value += arrivals.count }
    loop.add(source)
    func sendAll(_ name: String, _ waiter: Waiter) {
        let (before, waitedBefore) = (heard.value, waiter.heardCount)
        for _ in 0..<20 {
            let isBlockedHere = isBlocked(SIGUSR1)
            let count = waiter.heardCount
            waitForSleep(ofThread: waiter.number)
            send(SIGUSR1)
            if isBlockedHere { while waiter.heardCount == count { sched_yield() } }
            look()
        }
        print("\(name): source \(heard.value - before), sigwait \(waiter.heardCount - waitedBefore)")
    }
    let waiter = try Waiter()
    waiter.take(21)
    changeMask(SIG_BLOCK, SIGUSR1)
    waitForSleep(ofThread: waiter.number)
    let second = try Source(SIGUSR1) { _, _ in }
    loop.add(second)
    print("a second source has unblocked it: \(!isBlocked(SIGUSR1))")
    second.invalidate()
    sendAll("all threads block it", waiter)
    changeMask(SIG_UNBLOCK, SIGUSR1)
    sendAll("the initial thread does not", waiter)
    changeMask(SIG_BLOCK, SIGUSR1)
    send(SIGUSR1)  // its last one
    try waiter.thread.performAndWait { changeMask(SIG_UNBLOCK, SIGUSR1) }
    let before = heard.value
    for _ in 0..<20 {
        waiter.thread.perform {
            waitForSleep(ofThread: getpid())
            send(SIGUSR1)
        }
        takeOne()
        look()
    }
    print("the initial thread waits, the other one does not block it: source \(heard.value - before), sigwait 20")
    waiter.thread.stop()
    waiter.thread.join()
}
