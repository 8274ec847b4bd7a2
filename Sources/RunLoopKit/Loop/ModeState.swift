import Synchronization

/// One mode of one loop: its sources, timers and observers, and its epoll set.
///
/// Guarded by the loop's lock, except where stated.
final class ModeState {
    let mode: Loop.Mode
    private(set) weak var loop: Loop?

    /// The loop's waker, stored here so that a source can wake its loops without references to them.
    let waker: Waker
    let isVirtual: Bool

    @exclusivity(unchecked) private(set) var source0s: [Loop.Source0] = []
    @exclusivity(unchecked) private(set) var source1s = Source1Table()
    @exclusivity(unchecked) var timers = ModeTimers()
    @exclusivity(unchecked) private(set) var observers: [Loop.Observer] = []

    /// The union of the observers' activities. Written with the lock held, read without it at every step of a pass.
    /// Relaxed: an observer that is added at the same moment may as well be added a moment later.
    let observed = Atomic<UInt>(0)

    /// Whether a version-0 source may be signalled. Set after the source is marked (release), cleared before the marks
    /// are read (acquire), so a mark is seen by this look or the next.
    let mayHaveSignal = Atomic<Bool>(false)

    /// Whether a message port may have messages. Set after a port has become ready, before the nudge; cleared before
    /// the ports are asked, and set again if any has messages. So while a port has messages, this is true, or a thread
    /// is asking the ports and sees them. Relaxed: the ports' own locks publish what has become ready.
    private let mayHaveMessages = Atomic<Bool>(false)

    /// Made when the mode first runs: a mode that never runs owns no descriptor.
    @exclusivity(unchecked) private(set) var poller: Poller?

    private let readyList = ReadyList()

    /// What the kernel has reported and no pass has served yet. Only the loop's thread accesses it, also without the
    /// lock.
    var ready: ReadyList {
        #if DEBUG
            loop?.assertOnOwnThread()
        #endif
        return readyList
    }

    init(_ mode: Loop.Mode, of loop: Loop) {
        self.mode = mode
        self.loop = loop
        self.waker = loop.waker
        self.isVirtual = loop.clock.isVirtual
        timers.owner = ObjectIdentifier(self)
    }

    /// Checks in debug builds that the calling thread holds the loop's lock.
    @inline(__always)
    func assertLocked() {
        #if DEBUG
            // A loop that is being deallocated has no other users.
            loop?.lock.assertHeld()
        #endif
    }

    /// Whether nothing in the mode keeps a run going. Observers do not, and blocks belong to the loop.
    var isEmpty: Bool {
        assertLocked()
        return source0s.isEmpty && source1s.isEmpty && timers.isEmpty
    }

    // MARK: The epoll set

    /// Makes the epoll set, with the loop's own descriptors and the version-1 sources that are in the mode.
    func open(
        wakeUp: Descriptor, timer: Descriptor?, continuousTimer: Descriptor?, mainQueue: Descriptor?
    ) throws(LoopError) {
        guard poller == nil else { return }
        let poller = try Poller()
        try poller.add(wakeUp, token: ReadyList.wakeUp)
        if let timer { try poller.add(timer, token: ReadyList.timers) }
        if let continuousTimer { try poller.add(continuousTimer, token: ReadyList.continuousTimers) }
        if let mainQueue { try poller.add(mainQueue, token: ReadyList.mainQueue) }
        for (source, token) in source1s.inOrderOfReadiness {
            for watch in source.watches { try poller.set(watch, token: token) }
        }
        self.poller = poller
    }

    /// Watches the loop's timerfd for the continuous clock, which is made after the set.
    func watch(continuousTimer: Descriptor) throws(LoopError) {
        try poller?.add(continuousTimer, token: ReadyList.continuousTimers)
    }

    func close() { poller = nil }

    // MARK: Message ports

    /// Called by a message port that has become ready. From any thread.
    func announceMessages() {
        mayHaveMessages.store(true, ordering: .relaxed)
        waker.nudge()
    }

    /// The tokens of the message ports that have messages.
    func portsWithMessages() -> [UInt64] {
        assertLocked()
        guard mayHaveMessages.load(ordering: .relaxed) else { return [] }
        mayHaveMessages.store(false, ordering: .relaxed)
        let found = source1s.readyUnwatched
        if !found.isEmpty { mayHaveMessages.store(true, ordering: .relaxed) }
        return found
    }

    // MARK: Items

    func insert(_ source: Loop.Source0) {
        assertLocked()
        source0s.append(source)
        // It may have been signalled before it was added.
        mayHaveSignal.store(true, ordering: .releasing)
        if source.wantsToWake { waker.wake() }
    }

    func remove(_ source: Loop.Source0) {
        assertLocked()
        source0s.removeAll { $0 === source }
    }

    /// Inserts an observer by order, after those of equal order.
    func insert(_ observer: Loop.Observer) {
        assertLocked()
        let index = observers.lastIndex { $0.order <= observer.order }.map { $0 + 1 } ?? 0
        observers.insert(observer, at: index)
        observeWhatIsWanted()
    }

    func remove(_ observer: Loop.Observer) {
        assertLocked()
        observers.removeAll { $0 === observer }
        observeWhatIsWanted()
    }

    private func observeWhatIsWanted() {
        observed.store(observers.reduce(0) { $0 | $1.activities.rawValue }, ordering: .relaxed)
    }

    func insert(_ source: any Source1) {
        assertLocked()
        source1s.insert(source)
        watchesChanged(of: source)
    }

    func watchesChanged(of source: any Source1) {
        assertLocked()
        guard let poller, let token = source1s.token(of: source) else { return }
        do {
            for watch in source.watches { try poller.set(watch, token: token) }
        } catch {
            fatalError("RunLoopKit: watching a source in mode \(mode): \(error)")
        }
    }

    func remove(_ source: any Source1) {
        assertLocked()
        source1s.remove(source)
        guard let poller else { return }
        for watch in source.watches { poller.remove(watch) }
    }

    var items: [Loop.Item] {
        assertLocked()
        return source0s + source1s.all.map(\.source) + timers.all + observers
    }

    /// Removes and returns all items, at the loop's end.
    func removeAll() -> [Loop.Item] {
        assertLocked()
        let items = self.items
        source0s = []
        observers = []
        source1s = Source1Table()
        timers.removeAll()
        observed.store(0, ordering: .relaxed)
        return items
    }
}
