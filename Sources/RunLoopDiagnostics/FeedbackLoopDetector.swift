import RunLoopKit
import Synchronization

/// Finds feedback loops: work that triggers itself, again and again, within one pass of a loop.
///
/// A view whose layout invalidates another view, whose layout invalidates the first, never comes to rest: the program
/// uses the whole CPU, and its loop handles nothing else. A detector counts what happens for each object. When an
/// object reaches a threshold within one pass, the detector reports it, once for that pass, with the cycle of calls
/// that led there.
///
/// ```swift
/// final class Panel { func layout() {} }
///
/// let detector = FeedbackLoopDetector(on: .main, actions: [.log, .dropCalls])
/// let panel = Panel()
/// detector.call("layout", of: panel) { panel.layout() }  // counts, and calls the closure
/// ```
///
/// The class of the objects need not change. Use ``call(_:of:cause:file:line:_:)`` around a call,
/// `wrap(name, of: object)` for a closure, `watch(object, \.property, as: name)` for a closure that a property has,
/// `watch(method)` for a limited method, and ``count(_:_:cause:file:line:)`` where no wrapper is possible.
///
/// **Passes.** Counting begins at beforeTimers, and again when the loop wakes. It ends with the pass, or after the
/// beforeWaiting observers. Work that triggers itself through posted blocks, timers or sources is in a pass of its own
/// each time, and is not counted together: the findings of a ``LoopTracer`` show it, as `endless` or `spin`. A run or a
/// hosted pass that is nested in a handler counts for itself, and leaves the counts of the run below as they are. Calls
/// outside a run, or while a host sleeps for the loop, are not counted. The detector observes the common modes; in
/// another mode it begins to observe when something is counted there.
///
/// **Objects.** They are not retained, and a new object at the address of a deallocated one begins from zero. If a
/// feedback loop makes a new object each time, no object reaches the threshold, but their type reaches its own.
///
/// **Memory.** A pass records its last 1024 calls, and counts at most 1024 pairs of an object and a name. If there are
/// more, it forgets those with the lowest counts.
///
/// **Threads.** A detector belongs to one loop, and counts on its thread. A call on another thread is no part of a pass
/// of the loop: it is made and not counted (``callsOnOtherThreads``). Handlers and labels run on the loop's thread,
/// with no lock held. Everything else may be called from any thread.
///
/// **Lifetime.** The detector retains its loop, and the loop does not retain the detector: keep it. When it is
/// deallocated, it is detached. CF: none. UIKit: `-UIViewLayoutFeedbackLoopDebuggingThreshold`.
public final class FeedbackLoopDetector: @unchecked Sendable {
    // For the maintainer. `runs` belongs to the loop's thread: `countsOfThisPass` checks that. User code (labels,
    // causes, handlers, wrapped calls) is never called while `runs` changes, so it may call the detector.

    /// The threshold of ``init(on:threshold:typeThreshold:backtraceDepth:actions:label:)`` if none is given.
    public static let defaultThreshold = 100

    /// The loop whose passes are observed.
    public let loop: Loop

    /// The number of calls to one object, of one name and within one pass, at which the detector reports it.
    public let threshold: Int

    /// The number of calls to all objects of one type.
    public let typeThreshold: Int

    let backtraceDepth: Int
    let actions: [Action]
    let label: (@Sendable (AnyObject) -> String?)?
    let runs = CountedRuns()
    /// Whether `label` runs: it may call what is counted, and would be called for that again. As `runs`.
    private var isNaming = false

    private enum State: UInt8, AtomicRepresentable { case off, on, detached }
    private let state = Atomic<State>(.on)
    private static let areOn = Atomic<Bool>(true)

    private let elsewhere = Atomic<Int>(0)
    private let observers: [Loop.Observer]

    private let lock = Lock(.leaf)
    // Guarded by `lock`.
    /// The watches of each object.
    private var watches: [ObjectIdentifier: [Watch]] = [:]
    /// The number of watched objects at which to forget those that are gone. Grows with those that remain, so that the
    /// cost for each watch is constant.
    private var purgeCount = 16

    /// Makes a detector and attaches it to a loop. From any thread; if the loop runs, the detector counts from now on.
    ///
    /// - Parameters:
    ///   - loop: The loop. One that has ended is never observed.
    ///   - threshold: The number of calls to one object, of one name and within one pass, at which to report it.
    ///   - typeThreshold: The same for all objects of one type together; ten times `threshold` by default, since many
    ///     objects of one type may rightly be called once each.
    ///   - backtraceDepth: The number of return addresses to record for each of the last callers. Zero: none.
    ///   - actions: What to do when something reaches a threshold, in this order.
    ///   - label: The name of an object in reports; nil for the name of its type. Called on the loop's thread, when an
    ///     object is first counted in a pass, except from the object's `deinit`. What it calls is not counted. For
    ///     objects of the main actor, see ``init(threshold:typeThreshold:backtraceDepth:actions:isolation:label:)``.
    /// - Precondition: The thresholds are positive, and `backtraceDepth` is not negative.
    public init(
        on loop: Loop = .current, threshold: Int = defaultThreshold, typeThreshold: Int? = nil,
        backtraceDepth: Int = 0, actions: [Action] = [.log], label: (@Sendable (_ object: AnyObject) -> String?)? = nil
    ) {
        let (product, overflows) = threshold.multipliedReportingOverflow(by: 10)
        let typeThreshold = typeThreshold ?? (overflows ? .max : product)
        require(
            threshold > 0 && typeThreshold > 0,
            "a FeedbackLoopDetector with the thresholds \(threshold) and \(typeThreshold) would report everything. "
                + "Give thresholds of one or more.")
        require(
            backtraceDepth >= 0,
            "the backtraces of a FeedbackLoopDetector cannot have \(backtraceDepth) addresses. Give zero for none.")
        (self.loop, self.threshold, self.typeThreshold) = (loop, threshold, typeThreshold)
        (self.backtraceDepth, self.actions, self.label) = (backtraceDepth, actions, label)
        observers = FeedbackLoopDetector.makeObservers(of: loop, runs)
        observe(.common)
    }

    deinit { detach() }

    /// The first observer of all and the last one: what other observers do is counted in the pass that calls them.
    private static func makeObservers(of loop: Loop, _ runs: CountedRuns) -> [Loop.Observer] {
        nonisolated(unsafe) let runs = runs  // Observers run on the loop's thread.
        return [
            Loop.Observer(.all, order: .min, file: "FeedbackLoopDetector", line: 0) { [weak loop] _, activity in
                if let run = loop?.innermostPassingRun { runs.reach(activity, in: run) }
            },
            Loop.Observer([.beforeWaiting, .exit], order: .max, file: "FeedbackLoopDetector", line: 0) {
                [weak loop] _, activity in
                if let run = loop?.innermostPassingRun { runs.leave(activity, in: run) }
            },
        ]
    }

    /// A loop that has ended refuses the observers, which is no mistake of the program's.
    private func observe(_ mode: Loop.Mode) { for observer in observers { loop.insert(observer, in: mode) } }

    // MARK: Switches

    /// Whether detectors count. False turns all of them off, in effect at once: the next call is made uncounted, also
    /// one that a detector would drop. From any thread. True by default.
    ///
    /// A call then costs a relaxed load and a branch; that of a watched limited method a lock, too. The loops still
    /// call the detectors' observers, which find nothing to do: ``detach()`` removes them.
    public static var isEnabled: Bool {
        // Relaxed: it guards nothing. The loop's thread sees the store as soon as the hardware delivers it.
        get { areOn.load(ordering: .relaxed) }
        set { areOn.store(newValue, ordering: .relaxed) }
    }

    /// Whether this detector counts, if the switch for all of them is on too. In effect at once, like that one. False
    /// once it is detached. From any thread.
    ///
    /// Counts of the present pass are kept while it is off.
    public var isEnabled: Bool {
        // Relaxed: as above.
        get { state.load(ordering: .relaxed) == .on }
        set {
            let (old, new): (State, State) = newValue ? (.off, .on) : (.on, .off)
            _ = state.compareExchange(expected: old, desired: new, ordering: .relaxed)
        }
    }

    /// Whether both switches are on. Asked before anything is prepared for a call that may be counted.
    @inline(__always)
    var isOn: Bool { FeedbackLoopDetector.isEnabled && isEnabled }

    /// Detaches the detector from its loop, permanently: it counts no more, and the methods and closures that it
    /// watches are called directly. From any thread. A detector that is deallocated is detached.
    public func detach() {
        guard state.exchange(.detached, ordering: .relaxed) != .detached else { return }
        for observer in observers { observer.invalidate() }
        for watch in lock.withLock({ watches }).values.joined() { watch.cancel() }
    }

    /// The number of calls that were not counted, since they were made on a thread other than the loop's. From any
    /// thread.
    public var callsOnOtherThreads: Int { elsewhere.load(ordering: .relaxed) }

    // MARK: Watches

    /// Keeps a watch, unless there is one of the same thing. Returns the one that is kept.
    func keep(_ watch: Watch) -> Watch {
        if lock.withLock({ watches.count >= purgeCount }) { purge() }
        let kept = known(as: watch) ?? watch
        // Detached meanwhile: `detach` may have missed it.
        if state.load(ordering: .relaxed) == .detached { kept.cancel() }
        return kept
    }

    /// The active watch of the same thing. If there is none, lists this one, in place of those of a deallocated object.
    private func known(as watch: Watch) -> Watch? {
        let id = watch.watched.id
        while true {
            // Compared without the lock: a key of the program's may be part of a key path.
            let listed = lock.withLock { watches[id] ?? [] }
            let living = listed.filter { !$0.isOfDeallocated }
            if let known = living.first(where: { $0.isActive && $0.watched == watch.watched }) { return known }
            let isListed = lock.withLock {
                guard (watches[id] ?? []).elementsEqual(listed, by: ===) else { return false }
                watches[id] = living + [watch]
                return true
            }
            if isListed { return nil }
        }
    }

    /// Forgets the watches of deallocated objects.
    private func purge() {
        for watch in lock.withLock({ watches }).values.joined() where watch.isOfDeallocated { forget(watch) }
        lock.withLock { purgeCount = max(16, 2 * watches.count) }
    }

    /// The number of listed watches. For tests.
    var listedWatches: Int { lock.withLock { watches.values.reduce(0) { $0 + $1.count } } }

    func forget(_ watch: Watch) {
        let id = watch.watched.id
        lock.withLock {
            guard let index = watches[id]?.firstIndex(where: { $0 === watch }) else { return }
            watches[id]!.remove(at: index)
            if watches[id]!.isEmpty { watches[id] = nil }
        }
    }

    // MARK: Counting

    /// What to do with a call.
    enum Verdict {
        case uncounted, dropped
        case counted(CallTally, in: PassCounts)
    }

    /// What is called: an object, or a type for a static method.
    enum Target {
        case object(AnyObject)
        case type(any Any.Type)

        var id: ObjectIdentifier {
            switch self {
            case .object(let object): ObjectIdentifier(object)
            case .type(let type): ObjectIdentifier(type)
            }
        }
    }

    func verdict(
        on target: Target, _ name: String, _ cause: () -> String?, _ site: CallSite?
    ) -> Verdict {
        guard let counts = countsOfThisPass else { return .uncounted }
        let cause = cause()
        let tally = counts.tally(of: target, name) ?? counts.makeTally(of: subject(of: target), name)
        let typeTally = counts.typeTally(of: tally)
        if tally.isDropped || typeTally.isDropped { return .dropped }
        counts.record(
            tally, typeTally, cause: cause, site: site, backtrace: backtrace(before: tally, typeTally))
        if tally.count == threshold { detect(tally, typeTally, in: counts) }
        if typeTally.count == typeThreshold { detect(typeTally, typeTally, in: counts) }
        return tally.isDropped || typeTally.isDropped ? .dropped : .counted(tally, in: counts)
    }

    private func subject(of target: Target) -> CountedSubject {
        switch target {
        case .type(let type): return CountedSubject(metatype: type)
        case .object(let object):
            weak let reference = object
            isNaming = true
            defer { isNaming = false }
            // Nil while the object's `deinit` runs: the label must not retain it.
            return CountedSubject(object, label: reference.flatMap { label?($0) })
        }
    }

    /// Nil if the caller is on another thread, or in no pass of the loop.
    private var countsOfThisPass: PassCounts? {
        guard loop.isOnOwnThread else {
            elsewhere.add(1, ordering: .relaxed)
            return nil
        }
        // While the loop rests in a handler that runs the host, the handlers of the host are in no pass.
        guard let run = loop.innermostPassingRun, !loop.isWaiting, !isNaming else { return nil }
        guard let counts = runs.counts(of: run) else {
            // No observer has seen the run begin: its mode may not be a common one. No effect if it is.
            observe(run.publicMode)
            return runs.makeCounts(of: run)
        }
        return counts.isCounting ? counts : nil
    }

    private func backtrace(before tally: CallTally, _ typeTally: CallTally) -> [UInt] {
        guard backtraceDepth > 0 else { return [] }
        let remaining = min(threshold - tally.count, typeThreshold - typeTally.count)
        return (1...Report.callerCount).contains(remaining) ? System.backtrace(depth: backtraceDepth) : []
    }

    /// Something has reached its threshold: a tally of an object, or of a type.
    private func detect(_ tally: CallTally, _ typeTally: CallTally, in counts: PassCounts) {
        if actions.contains(where: \.dropsCalls) { tally.isDropped = true }
        // A report of this pass has shown the cycle already, as one of another object in it.
        if tally.isReported { return }
        let evidence = FeedbackLoopEvidence(of: tally, in: counts)
        for member in evidence.members {
            member.isReported = true
            counts.typeTally(of: member).isReported = true
        }
        let report = evidence.report(depth: runs.depth)
        for action in actions { action.perform(report) }
    }
}
