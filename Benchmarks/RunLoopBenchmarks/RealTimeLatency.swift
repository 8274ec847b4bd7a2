import Foundation
import RunLoopKit

/// A loop with a real-time priority, among threads of normal priority that use it, take every CPU and contend for its
/// locks: how late it calls.
///
/// The thread that measures has a real-time priority too, but a lower one than the loop: so nothing of normal priority
/// comes between the time that it takes and the post.
struct RealTimeLatency: Scenario {
    let name = "real-time-latency"
    let summary = "A SCHED_FIFO loop under load: from a post, a send, a byte or a due time to the call."

    private static let loopPriority = 50
    private static let callerPriority = 20

    func run(_ effort: Effort) throws -> Outcome {
        let busy = try RealTimeLatency.thread("busy", Self.loopPriority)
        let sent = try RealTimeLatency.thread("sent", Self.loopPriority)
        let normal = try LoopThread(name: "normal")
        let caller = try RealTimeLatency.thread("caller", Self.callerPriority)
        let subjects = [
            LatencyPath.event("eventfd, edge", priority: Self.loopPriority),
            LatencyPath.post(Outcome.kit, busy), try LatencyPath.port("\(Outcome.kit), port", busy),
            try LatencyPath.descriptor("\(Outcome.kit), descriptor", busy),
            LatencyPath.timer("\(Outcome.kit), timer", busy),
            try LatencyPath.port("\(Outcome.kit), port, others only send", sent),
            LatencyPath.post("\(Outcome.kit), normal priority", normal),
        ]
        let load = RealTimeLoad(using: busy.loop, sendingTo: sent.loop)
        let (rounds, count, name) = (effort.operationRounds, max(1, effort.operationsPerRound / 5), name)
        let samples = try caller.performAndWait {
            var latencies = subjects.map { _ in [Int64]() }
            subjects.takingTurns(rounds: rounds, name) { index, subject in
                for _ in 0..<count { latencies[index].append(subject.sample()) }
            }
            return latencies
        }.map { Samples($0) }
        load.end()
        for subject in subjects { subject.end() }
        let isRefused = !(busy.refusedOptions + sent.refusedOptions + caller.refusedOptions).isEmpty
        for thread in [busy, sent, normal, caller] {
            thread.stop()
            thread.join()
        }
        return outcome(subjects, samples, "\(rounds) rounds of \(count) calls", isRefused)
    }

    private static func thread(_ name: String, _ priority: Int) throws -> LoopThread {
        try LoopThread(
            options: .init(name: name, scheduling: .fifo(priority: priority), onRefusal: .runAnyway))
    }

    private func outcome(_ subjects: [LatencyPath], _ samples: [Samples], _ title: String, _ isRefused: Bool) -> Outcome
    {
        var notes = [
            "docs/reliability.md describes the load, and who only sends.",
            "The last column of the histogram holds all that is later still.",
        ]
        if isRefused { notes.append("SCHED_FIFO was refused: all threads had a normal priority.") }
        return Outcome(
            scenario: name, title: title,
            rows: zip(subjects, samples).map { subject, samples in
                Row(
                    subject.name,
                    [
                        .time("p50", samples.median), .time("p99", samples.percentile(99)),
                        .time("p99.9", samples.quantile(perTenThousand: 9_990)), .time("max", samples.max),
                    ])
            },
            bare: "eventfd, edge", notes: notes,
            distributions: zip(subjects, samples).map { ($0.name, $1) })
    }
}

/// A way to bring about a call on another thread. One call at a time.
private final class LatencyPath: Subject, @unchecked Sendable {
    let name: String
    private let called = WordSignal()
    // Written by one thread at a time; the semaphore orders the accesses.
    private var due: Int64 = 0
    private var calledAt: Int64 = 0
    private var start: (LatencyPath) -> Void = { _ in }
    private(set) var end: () -> Void = {}

    private init(_ name: String) { self.name = name }

    /// After a pause of random length, brings about a call. Returns how much later than now, or than it was due, it
    /// came.
    func sample() -> Int64 {
        usleep(.random(in: 50...250))
        due = monotonicNow()
        start(self)
        called.wait()
        return calledAt - due
    }

    private func call() {
        calledAt = monotonicNow()
        called.send()
    }

    /// Two system calls between two threads: the least that there is.
    static func event(_ name: String, priority: Int) -> LatencyPath {
        let path = LatencyPath(name)
        let responder = Responder<EdgeSignal> {
            path.call()
        } begin: {
            var parameters = sched_param()
            parameters.sched_priority = Int32(priority)
            // It may be refused, as to the loops.
            sched_setscheduler(0, Int32(SCHED_FIFO), &parameters)
        }
        path.start = { _ in responder.begin() }
        return path
    }

    static func post(_ name: String, _ thread: LoopThread) -> LatencyPath {
        let path = LatencyPath(name)
        path.start = { path in thread.perform { path.call() } }
        return path
    }

    static func port(_ name: String, _ thread: LoopThread) throws -> LatencyPath {
        let path = LatencyPath(name)
        let port = try Loop.PortSource { [unowned path] _ in path.call() }
        thread.loop.add(port, in: .common)
        path.start = { _ in port.send() }
        path.end = { port.invalidate() }
        return path
    }

    static func descriptor(_ name: String, _ thread: LoopThread) throws -> LatencyPath {
        let path = LatencyPath(name)
        let pipe = Pipe()
        let reader = pipe.fileHandleForReading.fileDescriptor
        let source = try Loop.FileDescriptorSource(reader) { [unowned path] _, _ in
            var byte: UInt8 = 0
            check("read", read(reader, &byte, 1))
            path.call()
        }
        thread.loop.add(source, in: .common)
        path.start = { _ in
            var byte: UInt8 = 1
            check("write", write(pipe.fileHandleForWriting.fileDescriptor, &byte, 1))
        }
        path.end = { source.invalidate() }
        return path
    }

    /// Due in 200 µs.
    static func timer(_ name: String, _ thread: LoopThread) -> LatencyPath {
        let path = LatencyPath(name)
        let timer = Loop.Timer(restartableAfter: .seconds(3_600)) { [unowned path] _ in path.call() }
        thread.loop.add(timer, in: .common)
        path.start = { path in
            path.due += 200_000
            timer.nextFireTime = Loop.Instant(nanoseconds: path.due)
        }
        path.end = { timer.invalidate() }
        return path
    }
}
