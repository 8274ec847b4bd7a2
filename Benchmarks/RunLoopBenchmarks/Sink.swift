import Foundation
import RunLoopKit

/// Where blocks run, one at a time.
protocol Sink: AnyObject, Sendable {
    var name: String { get }
    func post(_ block: @escaping @Sendable () -> Void)

    /// Runs the blocks until `stop` is called, if the calling thread is the one that has to.
    func runUntilStopped()
    /// Called by the last block.
    func stop()
}

extension Sink {
    func runUntilStopped() {}
    func stop() {}
}

/// A thread that takes blocks from an array: the least that a loop without other inputs does.
final class ListSink: Sink, @unchecked Sendable {
    let name = "list"
    private let state: State
    private let thread: PlainThread

    private final class State: @unchecked Sendable {
        private let condition = NSCondition()
        private var blocks: [@Sendable () -> Void] = []
        var isOver = false

        func append(_ block: @escaping @Sendable () -> Void) {
            condition.lock()
            blocks.append(block)
            if blocks.count == 1 { condition.signal() }
            condition.unlock()
        }

        /// Waits for blocks. `spare`, which is empty, becomes the list.
        func take(_ spare: inout [@Sendable () -> Void]) {
            condition.lock()
            while blocks.isEmpty { condition.wait() }
            swap(&spare, &blocks)
            condition.unlock()
        }
    }

    init() {
        let state = State()
        self.state = state
        thread = PlainThread {
            var blocks: [@Sendable () -> Void] = []
            while !state.isOver {
                state.take(&blocks)
                for block in blocks { block() }
                blocks.removeAll(keepingCapacity: true)
            }
        }
    }

    deinit {
        state.append { [state] in state.isOver = true }
        thread.join()
    }

    func post(_ block: @escaping @Sendable () -> Void) { state.append(block) }
}

final class KitSink: Sink {
    let name = Outcome.kit
    private let thread: LoopThread

    init() throws { thread = try LoopThread(name: "sink") }

    func post(_ block: @escaping @Sendable () -> Void) { thread.loop.perform(block) }
}

final class KitThreadSink: Sink {
    let name = "RunLoopKit, LoopThread.perform"
    private let thread: LoopThread

    init() throws { thread = try LoopThread(name: "sink") }

    func post(_ block: @escaping @Sendable () -> Void) { thread.perform(block) }
}

/// The initial thread measures, and runs its loop meanwhile.
final class KitMainSink: Sink {
    let name = "RunLoopKit, Loop.main"
    // It keeps the run going.
    private let idle: Loop.PortSource

    init() throws {
        idle = try Loop.PortSource { _ in }
        Loop.main.add(idle)
    }

    deinit { idle.invalidate() }

    func post(_ block: @escaping @Sendable () -> Void) { Loop.main.perform(block) }
    func runUntilStopped() { Loop.main.run() }
    func stop() { Loop.main.stop() }
}

/// The block itself is the message.
final class KitMessageSink: Sink {
    let name = "RunLoopKit, MessagePort"
    private let thread: LoopThread
    private let port = Loop.MessagePort<@Sendable () -> Void> { $0() }

    init() throws {
        thread = try LoopThread(name: "sink")
        thread.loop.add(port)
    }

    func post(_ block: @escaping @Sendable () -> Void) { port.send(block) }
}

final class DispatchSink: Sink {
    let name = "Dispatch"
    private let queue = DispatchQueue(label: "sink")

    func post(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }
}

final class CFSink: Sink {
    let name = "CFRunLoop"
    private let thread = CFThread()

    func post(_ block: @escaping @Sendable () -> Void) { thread.perform(block) }
}
