import Synchronization

/// Facts about the items of a mode, in one word.
struct ModeFacts: OptionSet {
    let rawValue: UInt

    /// Nearly every mode that runs has some: there is something to wait for.
    static let sources = ModeFacts(rawValue: 1 << 29)
    /// A pass that polls looks for due ones, with the lock.
    static let timers = ModeFacts(rawValue: 1 << 30)
    /// An item that only the kernel knows to be ready, such as a descriptor: a pass that polls asks it. The loop finds
    /// due timers on its own clock by reading that; only a timerfd tells that the wall clock was set.
    static let itemsOfKernel = ModeFacts(rawValue: 1 << 31)

    /// Observers of any of these activities.
    @inline(__always)
    static func observers(of activities: Loop.Activity) -> ModeFacts {
        ModeFacts(rawValue: activities.intersection(.all).rawValue)
    }
}

/// One mode of one loop: its sources, timers and observers, and its epoll set.
///
/// Guarded by the loop's lock, except where stated.
final class ModeState {
    let mode: Loop.Mode
    /// Set once, before any other thread can reach the mode.
    @LightWeak var loop: Loop?

    /// The loop's waker, stored here so that a source can wake its loops without references to them.
    let waker: Waker
    let isVirtual: Bool
    let threadOfLoop: ThreadID

    /// That of the loop.
    let takesMainActor: Bool

    /// Whether the mode is one of the loop's common modes. Written with the lock held. Relaxed, as `facts`.
    private let common = Atomic<Bool>(false)
    var isCommon: Bool {
        get { common.load(ordering: .relaxed) }
        set { common.store(newValue, ordering: .relaxed) }
    }

    /// The sequence number of the last item of `common` that a common mode has looked at: see CommonItems.swift.
    @exclusivity(unchecked) var commonTurn: UInt64 = 0

    /// The blocks that wait for this mode.
    @exclusivity(unchecked) var blocks = BlockQueue()

    /// All items that were added to `common`, if this represents that name. It then has no others.
    @exclusivity(unchecked) var commonItems = ItemTable<Loop.Item>()

    @exclusivity(unchecked) private(set) var source0s = ItemTable<Loop.Source0>()
    let source1s = Source1Table()
    @exclusivity(unchecked) var timers = ModeTimers()
    @exclusivity(unchecked) private(set) var observers = ModeObservers()

    // Of passes with a budget. Accessed by the loop's thread only.
    @exclusivity(unchecked) var cutTimers = CutStep<Loop.Timer>()
    @exclusivity(unchecked) var cutSource0s = CutStep<Loop.Source0?>()

    /// What a pass needs to know of the mode's items, without the lock, at every step. Written with the lock held.
    /// Relaxed: an item that is added at the same moment may as well be added a moment later.
    private let facts = Atomic<UInt>(0)

    /// Whether any of these facts holds.
    @inline(__always)
    func has(_ facts: ModeFacts) -> Bool { self.facts.load(ordering: .relaxed) & facts.rawValue != 0 }

    /// Whether a port of the mode has been sent to since the loop last asked the kernel.
    let edgeNote: EdgeNote

    /// Whether the loop's innermost run is in this mode. Written by the loop's thread, read by tasks and senders.
    let isRunning = Atomic<Bool>(false)

    /// Version-0 sources that have been signalled, and message ports that have got messages. Guarded by locks of their
    /// own.
    let signals = Arrivals<Loop.Source0>()
    let messages = Arrivals<Loop.Item>()

    /// Made when the mode first runs: a mode that never runs owns no descriptor.
    @exclusivity(unchecked) private var poller: Poller?

    /// Whether the epoll set has the eventfd of the main queue. Only the loop's thread accesses it.
    @exclusivity(unchecked) private(set) var watchesMainQueue = false

    /// Whether an edge of the main queue was seen while a run in this mode could not drain it: the mode was not common,
    /// or the run was inside a drain. The edge does not come again in this mode's set. Only the loop's thread accesses
    /// it.
    @exclusivity(unchecked) var hasPassedOverMainQueue = false

    private let readyList = ReadyList()

    /// What the kernel has reported and no pass has served yet. Only the loop's thread accesses it, with or without the
    /// lock.
    var ready: ReadyList {
        #if DEBUG
            loop?.assertOnOwnThread()
        #endif
        return readyList
    }

    /// A run in this mode that has ended. The next one uses the object again: making one takes 400 instructions. Only
    /// the loop's thread accesses it, until `close()`.
    @exclusivity(unchecked) var endedRun: Run?

    /// Keeps a run that has ended, unless the mode is closed.
    @inline(__always)
    func keep(_ run: consuming Run) { if isOpen { endedRun = consume run } }

    init(
        _ mode: Loop.Mode, isCommon: Bool, waker: Waker, isVirtual: Bool, threadOfLoop: ThreadID, takesMainActor: Bool
    ) {
        self.mode = mode
        self.waker = waker
        self.isVirtual = isVirtual
        self.threadOfLoop = threadOfLoop
        self.takesMainActor = takesMainActor
        edgeNote = EdgeNote(waker)
        self.isCommon = isCommon
        timers.owner = ObjectIdentifier(self)
    }

    func forgetCutSteps() {
        cutTimers.forget()
        cutSource0s.forget()
    }

    /// Checks in debug builds that the calling thread holds the loop's lock.
    @inline(__always)
    func assertLocked() {
        waker.lock.assertHeld()
    }

    /// Whether items leave the mode without help of its loop. In virtual time the loop has more to do.
    var itemsLeaveAlone: Bool { !isVirtual }

    /// Whether a run in the mode has no item to wait for: no source, and no timer but idle ones. A run looks for blocks
    /// itself.
    var isEmpty: Bool {
        assertLocked()
        return !has(.sources) && timers.areIdle
    }

    /// Whether an item is left that is not of the background. Beside some of the background the first one is, nearly
    /// always, that the search meets.
    var hasForeground: Bool {
        assertLocked()
        guard !isEmpty, Loop.Item.Rare.hasBackground.load(ordering: .relaxed) else { return !isEmpty }
        return source1s.contains { $0.keepsRunsGoing } || source0s.contains(where: \.keepsRunsGoing)
            || timers.contains { $0.heapTimes.deadline != TimerHeap.idle && $0.keepsRunsGoing }
    }

    // MARK: The epoll set

    /// Whether the mode has its epoll set.
    var isOpen: Bool { poller != nil }

    /// The epoll set's own descriptor.
    ///
    /// - Precondition: The mode is open.
    var pollDescriptor: Descriptor {
        guard let descriptor = poller?.descriptor else { reportClosed() }
        return descriptor
    }

    /// Asks the kernel what is ready, as `Poller.wait(milliseconds:)`. Called by the loop's thread without the lock: no
    /// other thread makes or closes the set.
    ///
    /// - Precondition: The mode is open.
    func wait(milliseconds: Int32) -> Int {
        waker.noteAnswer()
        guard let count = poller?.wait(milliseconds: milliseconds) else { reportClosed() }
        return count
    }

    /// Whether the kernel may know of something ready that the loop does not know. Called by the loop's thread, which
    /// then asks the kernel.
    @inline(__always)
    func takeNeedToPoll() -> Bool { has(.itemsOfKernel) || edgeNote.take() }

    /// What the last `wait(milliseconds:)` reported as the `index`th.
    func report(at index: Int) -> Poller.Report {
        guard let report = poller?.report(at: index) else { reportClosed() }
        return report
    }

    @inline(never)
    private func reportClosed() -> Never { fatalError("RunLoopKit: mode \(mode) has no epoll set.") }

    /// Makes the epoll set, with the loop's own descriptors and the version-1 sources that are in the mode.
    func open(
        wakeUp: Descriptor, timers: [(descriptor: Descriptor, token: UInt64)], mainQueue: Descriptor?
    ) throws(LoopError) {
        guard !isOpen else { return }
        let poller = try Poller()
        try poller.add(wakeUp, token: ReadyList.wakeUp)
        for timer in timers { try poller.add(timer.descriptor, token: timer.token) }
        if let mainQueue { try poller.add(mainQueue, token: ReadyList.mainQueue) }
        watchesMainQueue = mainQueue != nil
        noteFacts()
        for (source, token) in source1s.inOrderOfReadiness {
            for watch in source.watches { try poller.set(watch, token: token) }
        }
        self.poller = .some(consume poller)
    }

    /// Watches a timerfd that is made after the set.
    func watch(timer: Descriptor, token: UInt64) throws(LoopError) { try poller?.add(timer, token: token) }

    /// Called at the loop's end.
    func close() {
        poller = nil
        endedRun = nil
    }

    // MARK: Arrivals

    // Functions, which retain nothing: a caller that reaches into a mode retains what it finds there.

    /// Lists a source that has been signalled. The source's lock is held.
    @inline(never)
    func list(_ source: Loop.Source0, _ places: inout ArrivalPlaces) { signals.insert(source, &places) }

    /// Lists a message port that has got a message. The port's lock is held.
    @inline(never)
    func list(_ port: Loop.Item, _ places: inout ArrivalPlaces) { messages.insert(port, &places) }

    /// The sequence number of an event of the loop.
    @inline(__always)
    func nextTurn() -> UInt64 { waker.nextTurn() }

    /// Wakes the loop.
    @inline(never)
    func wake() { waker.wake() }

    /// Wakes the loop if it is awake. Returns false, and does nothing, if it may sleep. A caller that holds an item's
    /// lock then releases it before it wakes the loop, since the loop's thread would run into that lock at once.
    ///
    /// The loop may go to sleep at this moment, and is then woken with the lock held: equally correct, but slower.
    @inline(__always)
    func wakeIfAwake() -> Bool {
        guard !waker.mayBeAsleep else { return false }
        wake()
        return true
    }

    /// As `wakeIfAwake()`, for a nudge.
    @inline(__always)
    func nudgeIfAwake() -> Bool {
        guard !waker.mayBeAsleep else { return false }
        nudge()
        return true
    }

    /// Makes a sleeping loop look again.
    @inline(never)
    func nudge() { waker.nudge() }

    /// Whether a version-0 source is signalled.
    var hasSignal: Bool { signals.contains { $0.isSignalled } }

    /// Whether a message port has messages that are not listed as ready.
    var hasMessages: Bool {
        assertLocked()
        guard !messages.isEmpty else { return false }
        var arrived: [Loop.Item?] = []
        messages.takeAll(into: &arrived)
        var isReady = false
        for port in arrived where port?.announceMessages(in: self) ?? false { isReady = true }
        return isReady
    }

    // MARK: Items

    /// Takes out an item that is about to leave the mode.
    @inline(__always)
    func takeOut(_ item: Loop.Item) {
        assertLocked()
        if mode.namesCommonModes { commonItems.remove(item) } else { item.remove(from: self) }
    }

    func insert(_ source: Loop.Source0) {
        assertLocked()
        source0s.insert(source)
        noteFacts()
        // It may have been signalled before it was added.
        source.announceSignal(in: self)
    }

    func remove(_ source: Loop.Source0) {
        assertLocked()
        source0s.remove(source)
        noteFacts()
    }

    func insert(_ observer: Loop.Observer) {
        assertLocked()
        observers.insert(observer)
        noteFacts()
    }

    func remove(_ observer: Loop.Observer) {
        assertLocked()
        observers.remove(observer)
        noteFacts()
    }

    func insert(_ source: any Source1) {
        assertLocked()
        // It may be ready since it was in another loop.
        waker.turns.raise(to: source.readyTurn ?? 0)
        source1s.insert(source, turn: waker.turns.next())
        noteFacts()
        watchesChanged(of: source, areWatched: false)
    }

    /// Changes the sequence number of an item's insertion, if it is a version-1 source of the mode.
    func setInsertionTurn(_ turn: UInt64, of item: Loop.Item) {
        assertLocked()
        source1s.setTurn(turn, of: item)
    }

    /// - Parameters:
    ///   - source: One that is in the mode, as the caller makes sure with the lock held.
    ///   - areWatched: As in `Source1.watchesChanged(areWatched:)`.
    @inline(__always)
    func watchesChanged(of source: any Source1, areWatched: Bool) {
        assertLocked()
        guard isOpen, let token = source1s.tokenToWatch(source) else { return }
        do {
            for watch in source.watches { try poller?.set(watch, token: token, isWatched: areWatched) }
            edgeNote.set()  // It may be ready now.
        } catch {
            fatalError("RunLoopKit: watching a source in mode \(mode): \(error)")
        }
    }

    /// The kernel has reported a source that has nothing to handle: another thread has changed what the source wants,
    /// and has not told the kernel yet. The loop does, since it would be told the same again and again; and would keep
    /// a thread of a lower priority from its processor, for ever.
    @inline(never)
    func updateWatches(of source: any Source1) {
        // What is reported once only is not reported again, unless it is changed.
        guard !source.watches.isEmpty, source.watches.allSatisfy({ !($0.events ?? []).contains(.edge) }) else { return }
        watchesChanged(of: source, areWatched: true)
    }

    /// Stops watching an invalid source, if it is in the mode, for the same reason.
    func stopWatching(_ source: any Source1) {
        assertLocked()
        guard source1s.stopWatching(source), isOpen else { return }
        for watch in source.watches { poller?.remove(watch) }
    }

    func remove(_ source: any Source1) {
        assertLocked()
        let isWatched = source1s.remove(source)
        noteFacts()
        guard isOpen, isWatched else { return }
        for watch in source.watches { poller?.remove(watch) }
    }

    var items: [Loop.Item] {
        assertLocked()
        return source0s.all + source1s.all.map(\.source) + timers.all + observers.all
    }

    /// Removes and returns all items, at the loop's end.
    func removeAll() -> [Loop.Item] {
        assertLocked()
        let items = self.items
        source0s = ItemTable()
        observers = ModeObservers()
        source1s.removeAll()
        timers.removeAll()
        noteFacts()
        return items
    }

    @inline(__always)
    func insert(_ timer: Loop.Timer, _ times: HeapTimes, in heap: ModeTimers.Heap) {
        assertLocked()
        timers.insert(timer, times, in: heap)
        if heap == .suspending { note(.timers, true) } else { noteFacts() }
    }

    @inline(__always)
    func remove(_ timer: Loop.Timer, from heap: ModeTimers.Heap) {
        assertLocked()
        timers.remove(timer, from: heap)
        if timers.isEmpty { note(.timers, false) }
    }

    private func noteFacts() {
        assertLocked()
        var facts = ModeFacts.observers(of: observers.wanted)
        if !source0s.isEmpty || !source1s.isEmpty { facts.insert(.sources) }
        if !timers.isEmpty { facts.insert(.timers) }
        if source1s.kernelCount > 0 || timers.others != nil { facts.insert(.itemsOfKernel) }
        self.facts.store(facts.rawValue, ordering: .relaxed)
    }

    /// One fact alone: timers come and go more often than all others. It saves them 43 instructions.
    @inline(__always)
    private func note(_ fact: ModeFacts, _ holds: Bool) {
        let others = facts.load(ordering: .relaxed) & ~fact.rawValue
        facts.store(holds ? others | fact.rawValue : others, ordering: .relaxed)
    }
}
