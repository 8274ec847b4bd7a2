import CLinux
import Foundation
import RunLoopKit

/// Some of many descriptors are ready at once, as in a server with many connections: eventfds, whose handlers read
/// them.
struct ReadyDescriptors: Scenario {
    /// Makes what watches the descriptors, on the thread that serves them.
    typealias MakeWatcher = @Sendable ([Int32]) -> any ReadyWatcher

    let name: String
    let ready: Int
    let total: Int
    /// Peers that are not in the toolchain.
    let others: [(name: String, make: MakeWatcher)]

    var summary: String { "\(ready) of \(total) descriptors are ready, and their handlers read them." }

    init(_ ready: Int, of total: Int, others: [(name: String, make: MakeWatcher)] = []) {
        name = "ready-\(ready)-of-\(total)"
        (self.ready, self.total, self.others) = (ready, total, others)
    }

    func run(_ effort: Effort) throws -> Outcome {
        // A round makes and closes all descriptors.
        let effort = effort.wide
        allowDescriptors()
        var makers: [(name: String, make: MakeWatcher)] = [
            ("epoll, level + read", { BareWatcher($0) }),
            (Outcome.kit, { KitWatcher($0, isOwner: false) }),
            ("RunLoopKit, owning", { KitWatcher($0, isOwner: true) }),
        ]
        // Making and cancelling its sources takes the longest.
        if total <= 1_000 { makers.append(("Dispatch", { DispatchWatcher($0) })) }
        let subjects: [any OperationSubject] = (makers + others).map {
            ReadyOperation($0.name, ready: ready, of: total, $0.make)
        }
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of about \(effort.operationsPerRound) descriptors that are ready",
            rows: subjects.measured(name, effort), bare: "epoll, level + read",
            notes: ["For each descriptor that is ready: a write that makes it so, the handler, and its read."])
    }
}

/// Watches descriptors, on one thread.
protocol ReadyWatcher: AnyObject {
    /// Serves so many descriptors that are ready.
    func serve(_ count: Int)

    /// Watches none any more. Returns whether the descriptors are closed.
    func end() -> Bool
}

extension Effort {
    /// For rounds that make thousands of descriptors.
    fileprivate var wide: Effort {
        Effort(
            timerRounds: timerRounds, periodsPerRound: periodsPerRound,
            operationRounds: max(2, operationRounds / 2), operationsPerRound: operationsPerRound * 2)
    }
}

/// Reads an eventfd.
func drain(_ descriptor: Int32) {
    var count: UInt64 = 0
    check("read", read(descriptor, &count, 8))
}

/// Allows the process as many descriptors as it may have.
func allowDescriptors() {
    var limit = rlimit()
    #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(7), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(7), &limit)
    #else
        getrlimit(RLIMIT_NOFILE, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(RLIMIT_NOFILE, &limit)
    #endif
}

/// Rounds of one watcher, on a thread of its own.
private final class ReadyOperation: OperationSubject, @unchecked Sendable {
    let name: String
    private let ready: Int
    private let total: Int
    private let make: ReadyDescriptors.MakeWatcher
    private var thread: Responder<ConditionSignal>!
    // The thread and its caller access them in turn.
    private var batches = 0
    private var elapsed: Int64 = 0

    init(_ name: String, ready: Int, of total: Int, _ make: @escaping ReadyDescriptors.MakeWatcher) {
        (self.name, self.ready, self.total, self.make) = (name, ready, total, make)
        thread = Responder { [unowned(unsafe) self] in round() }
    }

    func measure(_ count: Int) -> Int64 {
        batches = max(1, count / ready)
        thread.ask()
        // For as many descriptors as the caller counts.
        return elapsed * Int64(count) / Int64(batches * ready)
    }

    private func round() {
        let descriptors = (0..<total).map { _ in
            check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
        }
        // Spread over all.
        let chosen = (0..<ready).map { descriptors[$0 * total / ready] }
        let watcher = make(descriptors)
        batch(watcher, chosen)
        let start = monotonicNow()
        for _ in 0..<batches { batch(watcher, chosen) }
        elapsed = monotonicNow() - start
        if !watcher.end() { for descriptor in descriptors { close(descriptor) } }
    }

    private func batch(_ watcher: any ReadyWatcher, _ chosen: [Int32]) {
        for descriptor in chosen {
            var one: UInt64 = 1
            check("write", write(descriptor, &one, 8))
        }
        watcher.serve(chosen.count)
    }
}

private final class BareWatcher: ReadyWatcher {
    private let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    private var events = [epoll_event](repeating: epoll_event(), count: 1_024)

    init(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            var event = epoll_event()
            event.events = CLINUX_EPOLLIN
            event.data.fd = descriptor
            check("epoll_ctl", epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event))
        }
    }

    func serve(_ count: Int) {
        var left = count
        while left > 0 {
            let found = Int(check("epoll_wait", epoll_wait(poll, &events, Int32(events.count), -1)))
            for event in events[..<found] { drain(event.data.fd) }
            left -= found
        }
    }

    func end() -> Bool {
        close(poll)
        return false
    }
}

private final class KitWatcher: ReadyWatcher, @unchecked Sendable {
    private let loop = Loop.current
    private let isOwner: Bool
    private var left = 0
    private var sources: [Loop.FileDescriptorSource] = []

    init(_ descriptors: [Int32], isOwner: Bool) {
        self.isOwner = isOwner
        sources = descriptors.map { descriptor in
            let handler: Loop.FileDescriptorSource.Handler = { [unowned(unsafe) self] _, _ in
                drain(descriptor)
                left -= 1
                if left == 0 { loop.stop() }
            }
            return isOwner
                ? try! Loop.FileDescriptorSource(owning: descriptor, handler: handler)
                : try! Loop.FileDescriptorSource(descriptor, handler: handler)
        }
        for source in sources { loop.add(source) }
    }

    func serve(_ count: Int) {
        left = count
        loop.run()
    }

    func end() -> Bool {
        for source in sources { source.invalidate() }
        sources = []
        return isOwner
    }
}

private final class DispatchWatcher: ReadyWatcher, @unchecked Sendable {
    private let queue = DispatchQueue(label: "ready")
    private let isServed = DispatchSemaphore(value: 0)
    private let cancellations = DispatchGroup()
    // Accessed on the queue, and by the caller while nothing is ready.
    private var left = 0
    private var sources: [any DispatchSourceRead] = []

    init(_ descriptors: [Int32]) {
        sources = descriptors.map { descriptor in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [unowned(unsafe) self] in
                drain(descriptor)
                left -= 1
                if left == 0 { isServed.signal() }
            }
            cancellations.enter()
            source.setCancelHandler { [cancellations] in cancellations.leave() }
            source.activate()
            return source
        }
    }

    func serve(_ count: Int) {
        // Handlers may have begun.
        queue.sync {
            left += count
            if left == 0 { isServed.signal() }
        }
        isServed.wait()
    }

    func end() -> Bool {
        for source in sources { source.cancel() }
        cancellations.wait()
        return false
    }
}
