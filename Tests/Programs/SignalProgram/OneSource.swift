// One source for several signals, and signals that come again before they are served.

import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

func oneSource() throws {
    let names = [SIGUSR1: "USR1", SIGUSR2: "USR2", SIGHUP: "HUP", SIGTERM: "TERM"]
    signal(SIGUSR2) { _ in old += 1 }
    let source = try Source([SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGUSR1]) { _, arrivals in
        print(arrivals.map { "\(names[$0.signal]!) \($0.senderProcess == getpid())" }.joined(separator: ", "))
    }
    print(source.signal == SIGUSR1, source.signals == [SIGUSR1, SIGUSR2, SIGHUP, SIGTERM])
    send(SIGUSR2)
    loop.add(source)
    print("before: \(old), replaced: \(source.replacedHandler?.hasSuffix("SignalProgram") == true)")
    print("\(loop)".contains("signals 10, 12, 1, 15, instead of the handler "))
    for signal in [SIGTERM, SIGUSR2, SIGUSR1, SIGHUP] { send(signal) }
    look()
    // More than fit into a pipe.
    for _ in 0..<5000 { send(SIGHUP) }
    for signal in [SIGUSR1, SIGHUP, SIGUSR1] { send(signal) }
    look()
    send(SIGHUP)
    look()
    let other = try makeSource("other", SIGHUP)
    loop.add(other)
    source.invalidate()
    for signal in [SIGUSR2, SIGHUP] { send(signal) }
    look()
    print("after: \(old)")
    for signals in [[], [SIGUSR1, realTime], [SIGUSR1, SIGKILL]] {
        do { _ = try Source(signals) } catch { print(error) }
    }
}

/// The last of several signals is served after it was sent, whenever it comes.
func comesAgain() throws {
    let sent = Atomic<Int>(0)
    let seen = Atomic<Int>(0)
    let source = try Source([SIGUSR1, SIGUSR2]) { _, _ in
        seen.store(sent.load(ordering: .relaxed), ordering: .relaxed)
    }
    loop.add(source)
    let sender = try LoopThread(name: "sends")
    let rounds = 300
    sender.perform {
        for round in 1...rounds {
            for part in 0..<3 {
                sent.store(3 * round + part, ordering: .relaxed)
                send(part == 1 ? SIGUSR2 : SIGUSR1)
            }
            while seen.load(ordering: .relaxed) < 3 * round + 2 { sched_yield() }
        }
    }
    while seen.load(ordering: .relaxed) < 3 * rounds + 2 {
        loop.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    }
    print("all were served")
    sender.stop()
    sender.join()
}
