import Synchronization

/// What a diagnostic learns of a loop. One object for each loop that it watches.
///
/// No callback calls code of the user's, or attaches or detaches monitors: a thread that detaches one waits for all
/// callbacks.
package protocol LoopMonitor: AnyObject, Sendable {
    /// The activities that the monitor wants to know of. Always the same.
    var activities: Loop.Activity { get }

    /// Whether the monitor wants to know of handovers. Always the same.
    var wantsHandovers: Bool { get }

    // On the loop's thread:

    /// A pass reached one of `activities`, or of those that another monitor of the loop wants. No observer need wait
    /// for it.
    func reached(_ activity: Loop.Activity, in mode: Loop.Mode)

    /// The loop is about to call a handler. Handlers nest: a handler may run the loop.
    func willCallOut(_ callout: Callout)

    /// The handler that was called last, of those that have not returned, has returned.
    func didCallOut(_ callout: Callout)

    /// The loop is about to sleep until `deadline`, on its clock; `LoopTime.never` for forever.
    func willWait(until deadline: Int64, in mode: Loop.Mode)

    /// The sleep has ended: the kernel reported this many ready descriptors, and a thread has woken the loop or not.
    func didWait(readyCount: Int, wasWoken: Bool)

    // On any thread:

    /// The handler that the loop is calling, and since when, if the monitor knows.
    var calloutInWords: String? { get }

    // On any thread, even in a Unix signal handler, and with locks held: takes no lock and allocates nothing.

    /// A sender woke the sleeping loop.
    func wasWoken()

    /// A thread has handed work to the loop: it posted a block, enqueued a job, or made an item in the loop ready.
    /// Called if any monitor of the loop wants it.
    func handedOver(_ handover: Handover)
}

extension LoopMonitor {
    package var activities: Loop.Activity { .all }
    package var wantsHandovers: Bool { true }
    package var calloutInWords: String? { nil }
    package func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {}
    package func willCallOut(_ callout: Callout) {}
    package func didCallOut(_ callout: Callout) {}
    package func willWait(until deadline: Int64, in mode: Loop.Mode) {}
    package func didWait(readyCount: Int, wasWoken: Bool) {}
    package func wasWoken() {}
    package func handedOver(_ handover: Handover) {}
}

/// A call of a handler.
package struct Callout {
    package let kind: Loop.HandlerKind
    /// Nil for a block, a job and the main queue.
    package let item: Loop.Item?
    /// Of an observer.
    package let activity: Loop.Activity
    /// Where a block was posted.
    package let place: Place
    /// The number of the `Handover` that caused the call; 0 if there is none, or no monitor was notified of it.
    package let cause: UInt64
    /// How much later than scheduled a timer fires, in nanoseconds.
    package let lateness: Int64

    init(
        _ kind: Loop.HandlerKind, _ item: Loop.Item? = nil, at activity: Loop.Activity = [], place: Place = .unknown,
        cause: UInt64 = 0, lateness: Int64 = 0
    ) {
        self.kind = kind
        self.item = item
        self.activity = activity
        self.place = place
        self.cause = cause
        self.lateness = lateness
    }
}

/// Work that a thread has handed to a loop.
package struct Handover {
    package let kind: Loop.HandlerKind
    package let item: Loop.Item?
    /// Where a block was posted.
    package let place: Place
    /// The sequence number of the readiness of an item, or a number of its own for a block or a job.
    package let number: UInt64

    init(of item: Loop.Item, _ kind: Loop.HandlerKind, _ number: UInt64) {
        (self.kind, self.item, self.place, self.number) = (kind, item, .unknown, number)
    }

    init(of block: Loop.PendingBlock) {
        (kind, item, place, number) = (.block, nil, block.place, block.number)
    }

    init(ofJob number: UInt64) { (kind, item, place, self.number) = (.job, nil, .unknown, number) }
}

/// A place in the source code of the program, or a label instead.
@usableFromInline
package struct Place: @unchecked Sendable, Hashable, CustomStringConvertible {
    // Of a literal or of `Labels`: lives forever, and ends with a zero byte. So a place retains nothing, and outlives
    // its block in a trace. Not the `StaticString` of a file itself, which takes 17 bytes.
    @usableFromInline let file: UnsafePointer<UInt8>?
    @usableFromInline let line: UInt32

    @inlinable package static var unknown: Place { Place(file: nil, line: 0) }

    @inlinable init(file: UnsafePointer<UInt8>?, line: UInt32) {
        self.file = file
        self.line = line
    }

    /// Whether this is a label.
    package var isLabel: Bool { file != nil && line == 0 }

    /// A label stands in for the place.
    init(_ label: String?, _ file: StaticString, _ line: UInt) {
        if let label, let text = Labels.text(of: label) {
            self.init(file: text, line: 0)
        } else {
            self.init(file, line)
        }
    }

    /// With line 0 it is a label, for items that the library makes on behalf of no place.
    init(_ file: StaticString, _ line: UInt) {
        self.init(file: file.utf8Start, line: UInt32(truncatingIfNeeded: line))
    }

    /// What reports call a block that was posted here.
    var nameOfBlock: String { isLabel ? "block \"\(self)\"" : "block (\(self))" }

    /// The place as two words; both are 0 if it is unknown.
    @inlinable package var words: (UInt64, UInt64) { (UInt64(UInt(bitPattern: file)), UInt64(line)) }

    /// - Parameter words: Those of another place.
    package init(words: (UInt64, UInt64)) {
        self.init(
            file: UnsafePointer(bitPattern: UInt(words.0)), line: UInt32(truncatingIfNeeded: words.1))
    }

    @usableFromInline package var description: String {
        guard let file else { return "unknown" }
        return String(cString: file).printable + (line == 0 ? "" : ":\(line)")
    }
}

/// The monitors of one loop. Without any, an event of the loop costs one relaxed load and a branch, of
/// `Loop.isMonitored`.
final class Monitors: Sendable {
    /// Has a monitor as a constant of an object, which is read without a retain.
    private final class Link: Sendable {
        let monitor: any LoopMonitor
        init(_ monitor: any LoopMonitor) { self.monitor = monitor }
    }

    private let list = SharedList<Link>()

    /// Those that any monitor wants, as bits. Relaxed, as `Loop.isMonitored`.
    private let activityBits = Atomic<UInt>(0)
    private let handoverBit = Atomic<Bool>(false)

    /// Guards changes of `list`.
    private let lock = Lock(.leaf)

    deinit { list.read { Monitors.attachedCount.subtract($0.count, ordering: .relaxed) } }

    var isEmpty: Bool { list.isEmpty }

    /// Whether any monitor wants to know of an activity.
    @inline(__always)
    func want(_ activity: Loop.Activity) -> Bool { activityBits.load(ordering: .relaxed) & activity.rawValue != 0 }

    /// Whether any monitor wants to know of handovers.
    @inline(__always)
    var wantHandovers: Bool { handoverBit.load(ordering: .relaxed) }

    /// Calls every monitor. None is called after its `detach` has returned. By indices: see the other `notify`.
    @inline(__always)
    func notify(_ body: (any LoopMonitor) -> Void) {
        list.read { monitors in
            var index = 0
            while index < monitors.count {
                Unmanaged.passUnretained(monitors[index])._withUnsafeGuaranteedRef { body($0.monitor) }
                index += 1
            }
        }
    }

    /// The first answer that is not nil.
    func first<Answer>(_ ask: (any LoopMonitor) -> Answer?) -> Answer? {
        var answer: Answer?
        notify { answer = answer ?? ask($0) }
        return answer
    }

    /// - Parameter isObserved: Set to whether there is any monitor.
    func attach(_ monitor: any LoopMonitor, _ isObserved: borrowing Atomic<Bool>) {
        change(isObserved) { $0.append(Link(monitor)) }
    }

    /// Detaches a monitor. It is not called any more after this returns.
    func detach(_ monitor: any LoopMonitor, _ isObserved: borrowing Atomic<Bool>) {
        change(isObserved, { $0.removeAll { $0.monitor === monitor } }, then: { list.waitForReaders() })
    }

    private func change(
        _ isObserved: borrowing Atomic<Bool>, _ body: (inout [Link]) -> Void, then: () -> Void = {}
    ) {
        lock.withLock {
            list.change { monitors in
                let count = monitors.count
                body(&monitors)
                // Relaxed, both: a thread that attaches a monitor does not wait for others to notice.
                Monitors.attachedCount.add(monitors.count - count, ordering: .relaxed)
                isObserved.store(!monitors.isEmpty, ordering: .relaxed)
                let wanted = monitors.reduce(into: Loop.Activity()) { $0.formUnion($1.monitor.activities) }
                activityBits.store(wanted.rawValue, ordering: .relaxed)
                handoverBit.store(monitors.contains { $0.monitor.wantsHandovers }, ordering: .relaxed)
            }
            then()
        }
    }
}

// Handovers to the loops of an item.
extension Monitors {
    /// The number of monitors that are attached to any loop of the process.
    private static let attachedCount = Atomic<Int>(0)

    /// Whether any loop of the process has a monitor. `Waker` and `PortSource` read it when they are made, so that it
    /// is initialized before a Unix signal handler needs it.
    @inline(__always)
    static var areAttached: Bool { attachedCount.load(ordering: .relaxed) > 0 }

    /// Notifies the monitors of an item's loops, each loop once.
    ///
    /// A Unix signal handler may call this. So it iterates by indices: an iterator, in code that is not optimized,
    /// allocates under a lock of the runtime when its type is first used.
    ///
    /// - Parameters:
    ///   - count: The number of modes that the item is in.
    ///   - waker: Returns that of the mode with an index.
    @inline(never)
    static func notify(of handover: Handover, toModes count: Int, _ waker: (Int) -> Waker) {
        var index = 0
        while index < count {
            let next = waker(index)
            if next.monitors.wantHandovers, isNew(next, at: index, waker) {
                next.monitors.notify { $0.handedOver(handover) }
            }
            index += 1
        }
    }

    private static func isNew(_ candidate: Waker, at index: Int, _ waker: (Int) -> Waker) -> Bool {
        var before = 0
        while before < index {
            if waker(before) === candidate { return false }
            before += 1
        }
        return true
    }
}

extension Loop {
    /// Attaches a monitor, which is called from the next event on. From any thread, even while the loop runs. Does
    /// nothing in a forked child, where no run of the loop reports.
    package func attach(_ monitor: any LoopMonitor) {
        if process.isCurrent { waker.monitors.attach(monitor, isMonitored) }
    }

    /// Calls every monitor. Without a retain: the loop keeps its monitors.
    @inline(__always)
    func notifyMonitors(_ body: (any LoopMonitor) -> Void) {
        Unmanaged.passUnretained(waker.monitors)._withUnsafeGuaranteedRef { $0.notify(body) }
    }

    /// Detaches a monitor. From any thread, but not from a callback of a monitor. It is not called any more afterwards.
    package func detach(_ monitor: any LoopMonitor) {
        if process.isCurrent { waker.monitors.detach(monitor, isMonitored) }
    }
}
