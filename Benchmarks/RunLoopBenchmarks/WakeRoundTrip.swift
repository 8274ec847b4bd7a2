import CLinux
import CoreFoundation
import Foundation
import RunLoopKit

/// Two threads wake each other in turn: the cost of a round trip between them.
///
/// Each wakes the other and goes to sleep, so that every round trip is two wake-ups of a sleeping thread. With several
/// CPUs, waking an idle one takes longer than everything else together; on one CPU the differences show.
struct WakeRoundTrip: Scenario {
    let name = "wake-round-trip"
    let summary = "Two sleeping threads wake each other in turn."

    func run(_ effort: Effort) throws -> Outcome {
        let dispatch = DispatchRally()
        let subjects: [any OperationSubject] = [
            SignalRoundTrip<EdgeSignal>("eventfd, edge"), SignalRoundTrip<LevelSignal>("eventfd, level + read"),
            SignalRoundTrip<ConditionSignal>("condition variable"), SignalRoundTrip<WordSignal>("futex word"),
            try KitBlockRally(), try KitThreadRally(), try KitBlockRally(spins: true), try KitPortRally(),
            try KitMessageRally(),
            try KitSourceRally(),
            CFBlockRally(), CFPortRally(), dispatch,
        ]
        let rows = subjects.measured(name, effort)
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) round trips",
            rows: rows, bare: "eventfd, edge", notes: [dispatch.note])
    }
}

// MARK: Bare

/// The calling thread and one that answers.
private final class SignalRoundTrip<Channel: Signal>: OperationSubject {
    let name: String
    private let responder = Responder<Channel>()

    init(_ name: String) { self.name = name }

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { responder.ask() }
        return monotonicNow() - start
    }
}

// MARK: Loops

/// Two ends that call each other. Each makes its handlers once, so that no subject pays for making closures.
protocol Rally: OperationSubject, Sendable {
    var score: Score { get }

    /// Makes the near end call `pinged`.
    func callPing()
    /// Makes the far end call `ponged`.
    func callPong()
    /// Returns when both ends have returned from their handlers, which may retain this.
    func settle()
}

extension Rally {
    func measure(_ count: Int) -> Int64 {
        score.begin(count)
        callPing()
        defer { settle() }
        return score.end()
    }

    func settle() {}

    /// On the near end.
    func pinged() { if score.hasToGoOn() { callPong() } }

    /// On the far end.
    func ponged() { callPing() }
}

/// Counts the round trips and takes the time, on the near end.
final class Score: @unchecked Sendable {
    private var remaining = 0
    private var start: Int64 = 0
    private var elapsed: Int64 = 0
    private let isOver = DispatchSemaphore(value: 0)

    func begin(_ count: Int) {
        remaining = count
        start = 0
    }

    func end() -> Int64 {
        isOver.wait()
        return elapsed
    }

    /// The first call comes from outside and begins the measurement.
    func hasToGoOn() -> Bool {
        guard start != 0 else {
            start = monotonicNow()
            return true
        }
        remaining -= 1
        if remaining > 0 { return true }
        elapsed = monotonicNow() - start
        isOver.signal()
        return false
    }
}

/// Two loop threads that call each other.
protocol KitRally: Rally {
    var near: LoopThread { get }
    var far: LoopThread { get }
}

extension KitRally {
    /// The threads end in the deinit, which must not run on one of them.
    func settle() { for thread in [near, far] { try? thread.performAndWait {} } }
}

/// Two loop threads that post blocks to each other.
final class KitBlockRally: KitRally, @unchecked Sendable {
    let name: String
    let score = Score()
    let near: LoopThread
    let far: LoopThread
    private var ping: @Sendable () -> Void = {}
    private var pong: @Sendable () -> Void = {}

    /// - Parameter cpus: One CPU for each thread; nil to leave them to the scheduler.
    init(spins: Bool = false, cpus: [Int]? = nil) throws {
        name = spins ? "RunLoopKit, spinning" : Outcome.kit
        near = try LoopThread(options: .init(name: "near", cpus: cpus.map { [$0[0]] }))
        far = try LoopThread(options: .init(name: "far", cpus: cpus.map { [$0[1]] }))
        if spins { for loop in [near.loop, far.loop] { loop.spinDuration = .microseconds(50) } }
        // The threads end before this does.
        ping = { [unowned(unsafe) self] in pinged() }
        pong = { [unowned(unsafe) self] in ponged() }
    }

    deinit { end(near, far) }

    func callPing() { near.loop.perform(ping) }
    func callPong() { far.loop.perform(pong) }
}

/// A job for a worker, and one back: by the threads' own calls.
private final class KitThreadRally: KitRally, @unchecked Sendable {
    let name = "RunLoopKit, LoopThread.perform"
    let score = Score()
    let near: LoopThread
    let far: LoopThread
    private var ping: @Sendable () -> Void = {}
    private var pong: @Sendable () -> Void = {}

    init() throws {
        near = try LoopThread(name: "near")
        far = try LoopThread(name: "far")
        ping = { [unowned(unsafe) self] in pinged() }
        pong = { [unowned(unsafe) self] in ponged() }
    }

    deinit { end(near, far) }

    func callPing() { near.perform(ping) }
    func callPong() { far.perform(pong) }
}

/// Two loop threads that send to each other's port.
private final class KitPortRally: KitRally, @unchecked Sendable {
    let name = "RunLoopKit, PortSource"
    let score = Score()
    let near: LoopThread
    let far: LoopThread
    private let ping: Loop.PortSource
    private let pong: Loop.PortSource

    init() throws {
        near = try LoopThread(name: "near")
        far = try LoopThread(name: "far")
        ping = try Loop.PortSource()
        pong = try Loop.PortSource()
        ping.setHandler { [unowned(unsafe) self] _ in pinged() }
        pong.setHandler { [unowned(unsafe) self] _ in ponged() }
        near.loop.add(ping, in: .default)
        far.loop.add(pong, in: .default)
    }

    deinit { end(near, far) }

    func callPing() { ping.send() }
    func callPong() { pong.send() }
}

/// Two loop threads that send messages to each other's port.
private final class KitMessageRally: KitRally, @unchecked Sendable {
    let name = "RunLoopKit, MessagePort"
    let score = Score()
    let near: LoopThread
    let far: LoopThread
    private let ping = Loop.MessagePort<Int>()
    private let pong = Loop.MessagePort<Int>()

    init() throws {
        near = try LoopThread(name: "near")
        far = try LoopThread(name: "far")
        ping.setHandler { [unowned(unsafe) self] _ in pinged() }
        pong.setHandler { [unowned(unsafe) self] _ in ponged() }
        near.loop.add(ping, in: .default)
        far.loop.add(pong, in: .default)
    }

    deinit { end(near, far) }

    func callPing() { ping.send(1) }
    func callPong() { pong.send(1) }
}

/// Two loop threads that signal each other's Source0.
private final class KitSourceRally: KitRally, @unchecked Sendable {
    let name = "RunLoopKit, Source0"
    let score = Score()
    let near: LoopThread
    let far: LoopThread
    private let ping = Loop.Source0()
    private let pong = Loop.Source0()

    init() throws {
        near = try LoopThread(name: "near")
        far = try LoopThread(name: "far")
        ping.setHandler { [unowned(unsafe) self] in pinged() }
        pong.setHandler { [unowned(unsafe) self] in ponged() }
        near.loop.add(ping, in: .default)
        far.loop.add(pong, in: .default)
    }

    deinit { end(near, far) }

    func callPing() { ping.signal() }
    func callPong() { pong.signal() }
}

private func end(_ threads: LoopThread...) {
    for thread in threads {
        thread.stop()
        thread.join()
    }
}

/// Two CFRunLoops that post blocks to each other.
private final class CFBlockRally: Rally, @unchecked Sendable {
    let name = "CFRunLoop"
    let score = Score()
    private let near = CFThread()
    private let far = CFThread()
    private var ping: CFThread.Block = {}
    private var pong: CFThread.Block = {}

    init() {
        ping = { [unowned(unsafe) self] in pinged() }
        pong = { [unowned(unsafe) self] in ponged() }
    }

    func callPing() { near.perform(ping) }
    func callPong() { far.perform(pong) }
}

/// Two CFRunLoops that write to each other's version-1 source.
private final class CFPortRally: Rally, @unchecked Sendable {
    let name = "CFRunLoop, version 1"
    let score = Score()
    private let near = CFThread()
    private let far = CFThread()
    private let ping: CFPort
    private let pong: CFPort

    init() {
        ping = CFPort()
        pong = CFPort()
        ping.handler = { [unowned(unsafe) self] in pinged() }
        pong.handler = { [unowned(unsafe) self] in ponged() }
        ping.add(to: near)
        pong.add(to: far)
    }

    func callPing() { ping.send() }
    func callPong() { pong.send() }
}

private final class CFPort: @unchecked Sendable {
    var handler: @Sendable () -> Void = {}
    private let descriptor = check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    private var source: CFRunLoopSource?

    deinit { close(descriptor) }

    func add(to thread: CFThread) {
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.perform = { CFPort.from($0).handler() }
        context.getPort = { CFPort.from($0).port }
        source = withUnsafeMutablePointer(to: &context) {
            $0.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) { CFRunLoopSourceCreate(nil, 0, $0) }
        }
        CFRunLoopAddSource(thread.loop, source, kCFRunLoopDefaultMode)
    }

    private var port: Int32 { descriptor }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> CFPort {
        Unmanaged<CFPort>.fromOpaque(pointer!).takeUnretainedValue()
    }

    func send() {
        var one: UInt64 = 1
        check("write", write(descriptor, &one, 8))
    }
}

/// Two serial queues. Queues are not threads: Dispatch may run both on one thread, and then no thread is woken.
private final class DispatchRally: Rally, @unchecked Sendable {
    typealias Block = @convention(block) @Sendable () -> Void

    let name = "Dispatch"
    let score = Score()
    private let near = DispatchQueue(label: "near")
    private let far = DispatchQueue(label: "far")
    private var ping: Block = {}
    private var pong: Block = {}

    // The two queues access it in turn.
    private var hops = 0
    private var hopsToOtherThread = 0
    private var lastThread = pthread_self()

    init() {
        ping = { [unowned(unsafe) self] in
            countHop()
            pinged()
        }
        pong = { [unowned(unsafe) self] in
            countHop()
            ponged()
        }
    }

    /// How far the figure is comparable.
    var note: String {
        let share = Double(hopsToOtherThread) / Double(max(hops, 1)) * 100
        return "Dispatch: two serial queues; \(String(format: "%.1f", share)) % of the hops went to another thread."
    }

    func callPing() { near.async(execute: ping) }
    func callPong() { far.async(execute: pong) }

    private func countHop() {
        hops += 1
        let thread = pthread_self()
        if thread != lastThread { hopsToOtherThread += 1 }
        lastThread = thread
    }
}
