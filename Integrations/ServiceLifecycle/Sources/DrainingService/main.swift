// A program that SIGTERM ends without losing work: it stops accepting, and writes what it has accepted.
import Logging
import RunLoopKit
import RunLoopKitServiceLifecycle
import ServiceLifecycle
import UnixSignals

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Hands records to the thread that writes them, until the group shuts down. The third one sends the signal, which
/// stands for the one that an operator would send.
struct Producer: Service {
    let disk: LoopThread

    func run() async throws {
        for number in 1...5 {
            let isAccepted = disk.perform { print("wrote record \(number)") }
            print("record \(number): \(isAccepted ? "accepted" : "refused")")
            if number == 3 { kill(getpid(), SIGTERM) }
        }
        try await gracefulShutdown()
    }
}

let disk = try LoopThread(name: "disk")
var logger = Logger(label: "DrainingService")
logger.logLevel = .warning
// The thread first: a group shuts its services down in the reverse order.
let group = ServiceGroup(
    services: [LoopThreadService(disk), Producer(disk: disk)],
    gracefulShutdownSignals: [.sigterm], logger: logger)
try await group.run()
print("ended; the thread accepts work: \(disk.loop.performCancellable {} != nil)")
