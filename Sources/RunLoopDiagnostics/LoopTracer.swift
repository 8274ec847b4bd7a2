import RunLoopKit

/// Records what loops do, to look at it afterwards: the activities, the handlers and how long they took, the waits and
/// what ended them, what threads handed to the loops, how late timers were.
///
/// ```swift
/// let tracer = LoopTracer()
/// tracer.attach(to: .main)
/// …
/// let trace = tracer.snapshot()
/// print(trace.text)  // or trace.html, a page for a browser, or trace.chromeTrace, for ui.perfetto.dev
/// ```
///
/// **Memory.** The events are in a ring of fixed size, whose memory grows with the events until it is full. Then a new
/// event overwrites the oldest.
/// ``LoopTrace/lostEventCount`` is the number of events that a snapshot lacks. The loops of a tracer share its ring, so
/// one that spins overwrites what the others did: the first of ``LoopTrace/findings`` then names it, as
/// ``LoopTrace/Finding/Kind/lostEvents``. A greater capacity keeps more, and a tracer for each loop keeps them apart.
///
/// **Cost.** An event takes tens of nanoseconds. It allocates nothing and takes no lock, except when a tracer sees an
/// item or a mode for the first time. But each block that is posted to the loop allocates, for its place and its cause,
/// while a tracer or a ``StallMonitor`` is attached. A loop without either pays a load and a branch.
/// The activities beforeTimers and beforeSources share one look at the clock, if no observer is called between them.
///
/// **Hosted loops** are recorded as others are. What lies between beforeWaiting and afterWaiting is the host's time,
/// whether it slept or called handlers of its own; a host that was slow shows in how late timers were.
///
/// **Names.** An item has the name that it has when the tracer first sees it called. Only the first 2,048 items have
/// one: where each client is an item, make a new tracer for each trace. A block has the place that posted it. What was
/// posted before a tracer or a ``StallMonitor`` was attached to the loop has neither a place nor a cause. Only the
/// first 256 threads have a name.
///
/// **Limiters.** An action that runs inside a call of its limiter is part of the handler that made the call. One that
/// the limiter's timer calls is that timer's.
///
/// **Threads and lifetime.** Everything here may be called from any thread, even while the loops run, but not in a Unix
/// signal handler. What a signal handler does, such as `Loop.wakeUp()` or a send to a port, is recorded. A tracer
/// retains neither loops nor items, only the memory of items. It detaches when its last reference is released.
public final class LoopTracer: @unchecked Sendable {
    /// The number of events that a tracer holds by default: 32,768, of 64 bytes each, so 2 MB.
    public static let defaultCapacity = 32_768

    /// The most events that a tracer can hold: 16,777,216, so 1 GiB once all of them have happened.
    public static let maximumCapacity = 1 << 24

    private struct Attachment {
        @LightWeak var loop: Loop?
        let name: String?
        /// When the tracer was attached to the loop.
        let start: Int64
        /// Nil once the loop is detached. The attachment stays, since events name it by its index.
        var monitor: TraceMonitor?
        /// When the loop was detached.
        var end: Int64?

        func isOf(_ loop: Loop) -> Bool { _loop.refers(to: loop) }
    }

    private let recorder: TraceRecorder

    private let lock = Lock(.tracer)
    // Guarded by `lock`.
    private var attachments: [Attachment] = []

    /// Makes a tracer, attached to no loop.
    ///
    /// - Parameters:
    ///   - capacity: How many events it holds, at least; rounded up to a power of two, and at most
    ///     ``maximumCapacity``: so `.max` keeps as many as possible. Events take memory as they happen, not before.
    ///   - clock: The clock whose time the events have, for loops in virtual time. Nil: the clock of ordinary loops.
    public init(capacity: Int = LoopTracer.defaultCapacity, clock: VirtualClock? = nil) {
        recorder = TraceRecorder(capacity: min(max(capacity, 16), LoopTracer.maximumCapacity), clock: clock)
    }

    deinit { detach() }

    /// The number of events that the tracer holds.
    public var capacity: Int { recorder.ring.capacity }

    /// The time on the tracer's clock, which events and spans have.
    public var now: Loop.Instant { Loop.Instant(nanoseconds: recorder.now) }

    /// Begins to record what a loop does, from its next event on. Does nothing if the tracer is attached to it.
    ///
    /// A tracer can be attached 65,535 times in its life, to a loop that was detached, too; then this does nothing. A
    /// program that attaches it to each of many loops makes a new tracer for each trace.
    ///
    /// - Parameters:
    ///   - loop: Any loop, running or not.
    ///   - name: The loop's name in exports; nil for the name of its thread.
    public func attach(to loop: Loop, as name: String? = nil) {
        lock.withLock {
            guard !attachments.contains(where: { $0.monitor != nil && $0.isOf(loop) }),
                attachments.count < Int(TraceRecord.noLoop)
            else {
                return
            }
            let monitor = TraceMonitor(recorder, loop, index: UInt16(attachments.count))
            attachments.append(Attachment(loop: loop, name: name, start: recorder.now, monitor: monitor))
            loop.attach(monitor)
        }
    }

    /// Ends the recording of a loop. When this returns, no further event is recorded. What the loop is in, such as a
    /// handler, counts until now. Does nothing if the tracer is not attached to it.
    public func detach(from loop: Loop) { detach { $0.isOf(loop) } }

    /// Ends the recording of all loops. When this returns, no further event is recorded. What was recorded is kept, and
    /// the trace ends now.
    public func detach() { detach { _ in true } }

    private func detach(where isChosen: (Attachment) -> Bool) {
        let loops = lock.withLock {
            attachments.indices.filter { isChosen(attachments[$0]) }.map { index -> Loop? in
                guard let monitor = attachments[index].monitor.take() else { return nil }
                let loop = attachments[index].loop
                loop?.detach(monitor)
                attachments[index].end = recorder.now
                return loop
            }
        }
        // Without the lock: each may be the last reference.
        withExtendedLifetime(loops) {}
    }

    /// What was recorded, up to now. The tracer continues to record meanwhile, and keeps what it has.
    public func snapshot() -> LoopTrace {
        let ring = recorder.ring
        let count = ring.writtenCount
        let first = count > UInt64(ring.capacity) ? count - UInt64(ring.capacity) : 0
        let records = (first..<count).compactMap { ring.read($0).flatMap(TraceRecord.init) }
        let loops = lock.withLock { attachments.map { (name: $0.name, start: $0.start, end: $0.end) } }
        let ends = loops.compactMap(\.end)
        let isOver = !loops.isEmpty && ends.count == loops.count
        var reading = TraceReading(recorder, loops.map { ($0.name, $0.end) })
        let lost = LostEvents(
            count: Int(count) - records.count, total: Int(count), capacity: ring.capacity,
            since: Loop.Instant(nanoseconds: loops.first?.start ?? 0))
        return reading.trace(of: records, lost: lost, at: isOver ? ends.max()! : recorder.now)
    }
}
