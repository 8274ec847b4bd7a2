import Foundation
import RunLoopKit
import Synchronization

/// Threads of normal priority that take every CPU, some of them with a loop's locks, and a second process.
final class RealTimeLoad: Sendable {
    private final class Flag: Sendable {
        let isUp = Atomic<Bool>(false)
    }

    private let isOver = Flag()
    private let threads: [PlainThread]
    private let process = Process()

    /// - Parameters:
    ///   - loop: The loop whose locks they contend for.
    ///   - other: A loop to which they only send by ports.
    init(using loop: Loop, sendingTo other: Loop) {
        let isOver = isOver
        threads =
            allowedCPUs().map { _ in PlainThread { RealTimeLoad.compute(until: isOver) } }
            + (0..<2).map { _ in PlainThread { RealTimeLoad.use(loop, until: isOver) } }
            + (0..<2).map { _ in PlainThread { RealTimeLoad.send(to: other, until: isOver) } }
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // It ends with this process.
        process.arguments = ["-c", "while kill -0 $PPID; do :; done"]
        process.standardError = FileHandle.nullDevice
        try! process.run()
    }

    func end() {
        isOver.isUp.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
        process.terminate()
        process.waitUntilExit()
    }

    private static func compute(until flag: Flag) {
        var state: UInt64 = 1
        while !flag.isUp.load(ordering: .relaxed) {
            for _ in 0..<10_000 { state = state &* 6_364_136_223_846_793_005 &+ 1 }
        }
        precondition(state != 0)
    }

    /// Calls what takes the locks of a loop, of its items and of its lists. With pauses: without them the loop would be
    /// busy for ever, and the kernel would stop it for a twentieth of each second.
    private static func use(_ loop: Loop, until flag: Flag) {
        let source = Loop.Source0 {}
        let messages = Loop.MessagePort<Int> { _ in }
        let port = try! Loop.PortSource { _ in }
        let moving = Loop.Timer(restartableAfter: .seconds(3_600)) { _ in }
        let debounce = Debounce<Int>(interval: .seconds(3_600), on: loop, whenReleased: .flush) { _ in }
        for item in [source, messages, port, moving] { loop.add(item, in: .common) }
        while !flag.isUp.load(ordering: .relaxed) {
            for number in 0..<10 {
                loop.perform(in: .common) {}
                source.signal()
                messages.send(number)
                port.send()
                moving.restart()
                debounce(number)
                let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
                loop.add(timer, in: .common)
                timer.invalidate()
            }
            usleep(100)
        }
        for item in [source, messages, port, moving] { item.invalidate() }
    }

    /// As often, but only sends.
    private static func send(to loop: Loop, until flag: Flag) {
        let ports = (0..<7).map { _ in try! Loop.PortSource { _ in } }
        for port in ports { loop.add(port, in: .common) }
        while !flag.isUp.load(ordering: .relaxed) {
            for _ in 0..<10 { for port in ports { port.send() } }
            usleep(100)
        }
        for port in ports { port.invalidate() }
    }
}
