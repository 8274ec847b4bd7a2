import LoopTestSupport
import CoreFoundation
import Foundation
import RunLoopKit
import Synchronization
import TestSupport
import Testing

/// Foundation's `RunLoop` on one thread and a `Loop` on another, in one process.
@Suite(.timeBound) struct FoundationNeighbourTests {
    /// Foundation's run loop on a thread of its own.
    private final class FoundationThread: Sendable {
        private let loop: OnItsThread

        private final class OnItsThread: @unchecked Sendable {
            var loop: CFRunLoop?
        }

        init() {
            loop = OnItsThread()
            let isReady = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [loop] in
                let keepAlive = Foundation.Timer(timeInterval: 3600, repeats: true) { _ in }
                RunLoop.current.add(keepAlive, forMode: .default)
                loop.loop = CFRunLoopGetCurrent()
                isReady.signal()
                CFRunLoopRun()
            }
            isReady.wait()
        }

        func perform(_ block: @escaping @Sendable () -> Void) {
            CFRunLoopPerformBlock(loop.loop, kCFRunLoopDefaultMode, block)
            CFRunLoopWakeUp(loop.loop)
        }

        func stop() { perform { CFRunLoopStop(CFRunLoopGetCurrent()) } }
    }

    @Test("A Foundation run loop and a Loop post to each other without losing anything")
    func postingBothWays() async throws {
        let rounds = 1000
        let theirs = FoundationThread()
        let ours = try LoopThread(name: "ours")
        let order = LoopBound<[Int]>([], on: ours.loop)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func round(_ number: Int) {
                ours.perform {
                    order.value.append(number)
                    theirs.perform {
                        if number == rounds { continuation.resume() } else { round(number + 1) }
                    }
                }
            }
            round(1)
        }
        #expect(try await ours.run { order.value } == Array(1...rounds))
        theirs.stop()
        ours.stop()
        ours.joinBlocking()
    }

    @Test("A ProcessSource watches Foundation's Process without consuming its status")
    func foundationProcess() throws {
        let theirs = Process()
        theirs.executableURL = URL(filePath: "/bin/sh")
        theirs.arguments = ["-c", "read line; exit 7"]
        let input = Pipe()
        theirs.standardInput = input
        try theirs.run()
        let ours = try LoopThread(name: "ours")
        let exits = LoopBound<[Loop.ProcessSource.Exit]>([], on: ours.loop)
        let isTold = DispatchSemaphore(value: 0)
        let source = try Loop.ProcessSource(theirs.processIdentifier, reaping: false) { _, exit in
            exits.value.append(exit)
            isTold.signal()
        }
        ours.loop.add(source, in: .default)
        // A line, not the end of the pipe: programs of other tests may have inherited it.
        input.fileHandleForWriting.write(Data("\n".utf8))
        theirs.waitUntilExit()
        isTold.wait()
        #expect(theirs.terminationStatus == 7)
        // Unknown if Foundation reaped the process first.
        #expect([[.exited(7)], [.unknown]].contains(try ours.performAndWait { exits.value }))
    }

    @Test("Foundation's timers and the library's fire side by side")
    func timersSideBySide() async throws {
        let theirs = FoundationThread()
        let ours = try LoopThread(name: "ours")
        async let ourCount: Void = withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let count = Countdown(from: 50)
            let timer = Loop.Timer(every: .milliseconds(1)) { firing in
                guard count.hasEnded() else { return }
                firing.timer.invalidate()
                continuation.resume()
            }
            ours.loop.add(timer, in: .common)
        }
        async let theirCount: Void = withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let count = Countdown(from: 50)
            theirs.perform {
                let timer = Foundation.Timer(timeInterval: 0.001, repeats: true) { timer in
                    guard count.hasEnded() else { return }
                    timer.invalidate()
                    continuation.resume()
                }
                RunLoop.current.add(timer, forMode: .default)
            }
        }
        _ = await (ourCount, theirCount)
        theirs.stop()
        ours.stop()
        ours.joinBlocking()
    }
}

private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(from start: Int) { left = Atomic(start) }

    /// Returns true at the last expected call.
    func hasEnded() -> Bool { left.subtract(1, ordering: .relaxed).newValue == 0 }
}
