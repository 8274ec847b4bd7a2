import WeakMemory

/// `Waker`, as in `Loop/Waker.swift`, with its loop and its eventfd.
///
/// The kernel orders only what is its own: the count of the eventfd is relaxed. Whoever is woken must learn the rest
/// from the word. A host is the exception: the word does not tell it that it has slept. So it relies on the locks of
/// the kernel, which order the write before the end of its wait.
private struct ModelledWaker {
    static let (awake, asleep, hosted) = (0, 1, 2)
    static let (notified, nudged, written, closed) = (4, 8, 16, 32)
    static let (oneWriter, oneSleep) = (1 << 6, 1 << 9)
    static let mayBeAsleep = asleep | hosted
    static let notes = notified | nudged
    static func sleep(of word: Int) -> Int { word / oneSleep }
    static func writers(of word: Int) -> Int { word % oneSleep / oneWriter }

    let word: Location
    /// 1 while the waker has an eventfd.
    let eventFD: Location
    /// The count of the eventfd.
    let count: Location
    let isOpen: Plain
    let orders: Orders
    var whileRunning = awake
    var kernel = Order.relaxed

    init(_ program: inout Program, _ orders: Orders) {
        word = program.atomic()
        eventFD = program.atomic()
        count = program.atomic()
        isOpen = program.plain("the eventfd")
        self.orders = orders
    }

    // MARK: From any thread

    func add(_ note: Int, _ thread: ModelThread) {
        let found = thread.modify(word, orders["Waker.leave word.bitwiseOr"]) { $0 | note }
        guard found & Self.mayBeAsleep != 0, found & Self.written == 0 else { return }
        guard beginWriting(found, thread) else { return }
        let descriptor = thread.load(eventFD, orders["Waker.descriptor eventFD.load"])
        thread.expect(descriptor == 1, "the sender does not see the eventfd")
        thread.read(isOpen)
        thread.add(count, 1, kernel)
        endWriting(Self.sleep(of: found), thread)
    }

    private func beginWriting(_ found: Int, _ thread: ModelThread) -> Bool {
        let now = thread.load(word, orders["Waker.beginWriting word.load"])
        return thread.repeating(from: now) { now in
            let isSameSleep = Self.sleep(of: found) == Self.sleep(of: now)
            let needsWrite = isSameSleep ? now & Self.written == 0 : found & Self.hosted != 0
            guard now & Self.closed == 0, needsWrite else { return .end(0) }
            let change = thread.compareExchange(
                word, now, now + Self.oneWriter, orders["Waker.beginWriting word.weakCompareExchange"],
                failure: .relaxed, isWeak: true)
            return change.exchanged ? .end(1) : .again(change.original)
        } == 1
    }

    private func endWriting(_ sleep: Int, _ thread: ModelThread) {
        let found = thread.load(word, orders["Waker.endWriting word.load"])
        let new = thread.repeating(from: found) { found in
            let written = Self.sleep(of: found) == sleep ? Self.written : 0
            let new = (found - Self.oneWriter) | written
            let site: StaticString = "Waker.endWriting word.weakCompareExchange"
            let change = thread.compareExchange(
                word, found, new, orders[site], failure: orders.failure(site), isWeak: true)
            return change.exchanged ? .end(new) : .again(change.original)
        }
        closeIfUnused(new, thread)
    }

    func isAsleep(_ thread: ModelThread) -> Bool {
        let found = thread.load(word, orders["Waker.isAsleep word.load"])
        return found & Self.mayBeAsleep != 0 && found & Self.notes == 0
    }

    // MARK: On the loop's thread

    func open(_ thread: ModelThread) {
        thread.write(isOpen)
        thread.store(eventFD, 1, orders["Waker.open eventFD.store"])
    }

    private func isRunning(_ word: Int) -> Bool { word & (Self.mayBeAsleep | Self.notes) == whileRunning }

    private func next(_ word: Int, _ state: Int) -> Int {
        (word & ~(Self.mayBeAsleep | Self.notes | Self.written) | state) + Self.oneSleep
    }

    func beginWait(_ thread: ModelThread) -> Bool {
        let found = thread.load(word, orders["Waker.beginWait word.load"])
        return thread.repeating(from: found) { found in
            guard isRunning(found) else { return .end(0) }
            let site: StaticString = "Waker.beginWait word.weakCompareExchange"
            let change = thread.compareExchange(
                word, found, next(found, Self.asleep), orders[site], failure: orders.failure(site), isWeak: true)
            return change.exchanged ? .end(1) : .again(change.original)
        } == 1
    }

    func endWait(_ thread: ModelThread) {
        if isRunning(thread.load(word, orders["Waker.endWait word.load"])) { return }
        change(to: whileRunning, thread)
    }

    /// A host that says when it sleeps is awake again: the notes stay.
    func endHostSleep(_ thread: ModelThread) {
        let found = thread.load(word, orders["Waker.mayBeAsleep word.load"])
        if found & Self.mayBeAsleep != 0 { change(to: Self.awake, keeping: Self.notes, thread) }
    }

    private func change(to state: Int, keeping kept: Int = 0, _ thread: ModelThread) {
        let found = thread.load(word, orders["Waker.change word.load"])
        thread.repeating(from: found) { found in
            let site: StaticString = "Waker.change word.weakCompareExchange"
            let change = thread.compareExchange(
                word, found, next(found, state | found & kept), orders[site], failure: orders.failure(site),
                isWeak: true)
            return change.exchanged ? .end(0) : .again(change.original)
        }
    }

    // MARK: The end

    func close(_ thread: ModelThread) {
        guard thread.load(eventFD, orders["Waker.descriptor eventFD.load"]) == 1 else { return }
        change(to: Self.awake | Self.closed, thread)
        closeIfUnused(thread.load(word, orders["Waker.close word.load"]), thread)
    }

    private func closeIfUnused(_ word: Int, _ thread: ModelThread) {
        guard word & Self.closed != 0, Self.writers(of: word) == 0 else { return }
        if thread.exchange(eventFD, 0, orders["Waker.closeIfUnused eventFD.exchange"]) == 1 {
            thread.write(isOpen)
        }
    }
}

extension ProtocolModel {
    /// A loop that sleeps until it has the work of every sender, and then ends. Work is announced as that of
    /// `Loop.queuedBlocks`.
    private static func wakeModel(
        _ name: String, senders: Int, _ sleeper: Sleeper = .loop, ends: Bool = true
    ) -> ProtocolModel {
        ProtocolModel(name: name) { orders in
            var program = Program()
            var waker = ModelledWaker(&program, orders)
            if sleeper == .host { waker.kernel = .acquiringAndReleasing }
            let work = (0..<senders).map { _ in program.atomic() }
            for index in 0..<senders {
                program.thread { [waker] thread in
                    thread.store(work[index], 1, orders["WaitingBlocks.countBlocks queuedBlocks.store"])
                    waker.add(ModelledWaker.notified, thread)
                }
            }
            if sleeper == .host { waker.whileRunning = ModelledWaker.hosted }
            program.thread { [waker] thread in
                waker.open(thread)
                if sleeper == .host { waker.endWait(thread) }
                thread.repeating { taken in
                    waker.endWait(thread)
                    var all = taken
                    for index in 0..<senders where taken & 1 << index == 0 {
                        let order = orders["Pass.performBlocks queuedBlocks.load"]
                        if thread.load(work[index], order) == 1 { all |= 1 << index }
                    }
                    if all == 1 << senders - 1 { return .end(0) }
                    // A hosted loop never marks itself asleep: its host waits in any case.
                    guard sleeper == .host || waker.beginWait(thread) else { return .again(all) }
                    thread.take(waker.count, waker.kernel)
                    if sleeper == .hostThatSaysSo { waker.endHostSleep(thread) }
                    return .again(all)
                }
                if ends { waker.close(thread) }
            }
            program.atEnd { [waker] _, last in !ends || last(waker.eventFD) == 0 }
            return program
        }
    }

    /// A loop ends while two senders that have found it asleep are about to write.
    private static let twoLateSenders = ProtocolModel(name: "a loop ends beside two senders") { orders in
        var program = Program()
        let waker = ModelledWaker(&program, orders)
        for _ in 0..<2 { program.thread { waker.add(ModelledWaker.notified, $0) } }
        program.thread { thread in
            waker.open(thread)
            _ = waker.beginWait(thread)
            waker.close(thread)
        }
        program.atEnd { _, last in last(waker.eventFD) == 0 }
        return program
    }

    private enum Sleeper { case loop, host, hostThatSaysSo }

    /// Half a million states.
    static let longWakeModels = [
        wakeModel("two senders wake a loop that sleeps", senders: 2, ends: false),
        wakeModel("two senders wake the host of a loop", senders: 2, .host, ends: false),
        wakeModel("two senders wake a host that says when it sleeps", senders: 2, .hostThatSaysSo, ends: false),
    ]

    static let wakeModels = [
        wakeModel("a sender wakes a loop that sleeps, and ends", senders: 1),
        twoLateSenders,
        wakeModel("a sender wakes the host of a loop", senders: 1, .host),
        wakeModel("a sender wakes a host that says when it sleeps", senders: 1, .hostThatSaysSo),
        ProtocolModel(name: "a thread looks at what a loop did before it went to sleep") { orders in
            var program = Program()
            let waker = ModelledWaker(&program, orders)
            let data = program.plain("what the loop did")
            program.thread { thread in
                waker.open(thread)
                thread.write(data)
                guard waker.beginWait(thread) else { return }
                thread.take(waker.count, .relaxed)
                waker.endWait(thread)
                thread.write(data)
            }
            program.thread { thread in
                if waker.isAsleep(thread) { thread.read(data) }
                waker.add(ModelledWaker.nudged, thread)
            }
            return program
        },
    ]
}
