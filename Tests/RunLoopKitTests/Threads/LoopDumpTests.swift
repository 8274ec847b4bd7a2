import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct LoopDumpTests {
    @Test("A dump describes every loop of the process, by the name of its thread")
    func allLoops() throws {
        let threads = try ["first", "second"].map { try LoopThread(name: $0) }
        let timer = Loop.Timer(every: .seconds(1000)) { _ in }
        timer.label = "a timer of the first"
        threads[0].loop.add(timer)
        let dump = Loop.dump
        let first = try #require(dump.range(of: "Loop of \"first\""))
        let second = try #require(dump.range(of: "Loop of \"second\""))
        #expect(first.lowerBound < second.lowerBound)
        #expect(dump[first.upperBound..<second.lowerBound].contains("timer \"a timer of the first\": fires in"))
    }

    /// Also those that the pass has already taken out of their queue.
    @Test("A description counts all blocks that have not begun")
    func blocksThatWait() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let count: @Sendable () -> Void = {
            log.add(String("\(loop)".prefix { $0 != "\n" }.split(separator: ";").dropFirst().joined()))
        }
        loop.perform {
            count()
            for _ in 0..<2 { loop.perform(count) }
            loop.run(for: .zero)
            count()
        }
        for _ in 0..<2 { loop.perform(count) }
        loop.run(for: .zero)
        #expect(
            log.entries == [
                " 2 blocks posted", " 3 blocks posted", " 2 blocks posted", " 2 blocks posted", " 1 block posted", "",
            ])
    }

    @Test("A loop that is deallocated is in no dump")
    func deallocatedLoop() {
        var loop: Loop? = Loop(clock: VirtualClock())
        weak let same = loop
        #expect(LoopRegistry.shared.loops.contains { $0 === loop })
        loop = nil
        // A dump that another test asks for retains all loops for a moment.
        spin(until: same == nil)
        #expect(!LoopRegistry.shared.loops.contains { $0 === same && same != nil })
    }

    @Test("A loop whose lock a thread holds for long is described without it")
    func heldLock() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let (isHeld, isDone) = (Gate(), Gate())
        let holder = try LoopThread(name: "holder")
        holder.perform {
            loop.lock.withLock {
                isHeld.open()
                isDone.wait()
            }
        }
        isHeld.wait()
        #expect(
            loop.descriptionWithPatience == "Loop of \"\(loop.threadName)\": not waiting; a thread holds its lock, and "
                + "does not continue")
        isDone.open()
        holder.stop()
        holder.join()
    }

    @Test("A signal prints the dump, also while the interrupted thread holds a loop's lock")
    func signal() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (pipe, standardError) = (Pipe(), dup(2))
            dup2(pipe.fileHandleForWriting.fileDescriptor, 2)
            try Loop.dumpOnSignal(SIGUSR1)
            try Loop.dumpOnSignal(SIGUSR1)
            let stalled = try LoopThread(name: "stalled")
            let isHeld = Gate()
            stalled.perform {
                stalled.loop.lock.withLock {
                    isHeld.open()
                    while true { pause() }
                }
            }
            isHeld.wait()
            // The first write is the whole dump.
            kill(getpid(), SIGUSR1)
            let dump = pipe.fileHandleForReading.availableData
            _ = dump.withUnsafeBytes { write(standardError, $0.baseAddress, $0.count) }
            _exit(0)
        }
        expect(
            result,
            says: [
                "Loop of \"loop dump\": running in default", "port source \"dump\": 0 sends waiting",
                "Loop of \"stalled\": not waiting; a thread holds its lock, and does not continue",
            ])
    }

    @Test("A signal that cannot be caught is refused")
    func uncatchableSignal() async {
        // In a process of its own: the thread that would print the dump stays for ever.
        await #expect(processExitsWith: .success) {
            #expect(throws: LoopError.self) { try Loop.dumpOnSignal(SIGKILL) }
        }
    }
}
