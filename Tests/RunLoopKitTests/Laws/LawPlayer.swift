import LoopTestSupport
import TestSupport

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Plays a program on a thread of its own, and checks the laws at the beginning of each script and after each step.
final class LawPlayer: @unchecked Sendable {
    /// What is in progress, innermost last.
    enum Frame {
        case callout(of: LawItem)
        case schedule(of: LawItem), cancel(of: LawItem)
        case block(LawBlock), endHandler
        /// Of a limiter.
        case action(of: AnyObject)
        /// The deinit of what was captured, or of a key.
        case release(of: AnyObject)
    }

    let program: LawProgram
    var coverage = LawCoverage()

    /// The first law that was broken; the program stops there.
    private(set) var violation: String?
    /// The events of a program that is known to fail.
    private var story: [String] = []
    private let records: Bool

    private var itemsByIndex: [LawItem?]
    /// Those that the program has used.
    private(set) var items: [LawItem] = []
    var loops: [LawLoop] = []
    var endedLoops: [LawLoop] = []
    let clock = VirtualClock()
    private var frames: [Frame] = []
    var runs: [LawLoop] = []
    /// Whether another thread plays a step, and how many frames were there before it.
    private(set) var isElsewhere = false
    /// How often an item has joined a mode, and the number of the last block.
    private(set) var joins = 0
    var lastBlock = 0
    private var framesOfOwnThread = 0
    var stepsLeft = 500
    var blocks: [LawBlock] = []
    var endHandlers: [LawBlock] = []
    private var signals = 0
    private(set) lazy var monitor = LawMonitor(
        hasBlock: { [unowned self] in innermost?.hasBlock(for: $0) ?? false },
        isOfProgram: { [unowned self] item in items.contains { $0.item === item } },
        report: { [unowned self] in expect(false, $0) })

    /// Messages that exist, queued or not.
    var messagesAlive = 0

    /// Set at the end: callouts play no scripts any more.
    var isGoingQuiet = false

    private init(_ program: LawProgram, records: Bool) {
        self.program = program
        self.records = records
        itemsByIndex = program.items.map { _ in nil }
    }

    /// The violation is nil if all laws held.
    static func play(_ program: LawProgram, records: Bool = false) -> (violation: String?, coverage: LawCoverage) {
        let player = LawPlayer(program, records: records)
        let descriptors = descriptorKinds
        let thread = try! System.startThread(stackSize: nil) { player.play() }
        System.join(thread)
        player.checkTheEnd()
        (player.itemsByIndex, player.items) = ([], [])
        // A thread of the library reaps an invalid child, and closes its pidfd a moment later.
        while descriptorKinds.contains(where: { $0.value.contains("pidfd") && descriptors[$0.key] == nil }) {
            leaveProcessor()
        }
        let after = descriptorKinds
        let (more, less) = (
            after.filter { descriptors[$0.key] != $0.value }, descriptors.filter { after[$0.key] != $0.value }
        )
        player.expect(after == descriptors, "descriptors are left behind: \(more), missing: \(less)")
        return (player.violation.map { ([$0] + player.story).joined(separator: "\n") }, player.coverage)
    }

    /// Other processes may rename or delete files meanwhile: this process has inherited descriptors of tests in its
    /// parent.
    private static var descriptorKinds: [Int32: String] {
        openDescriptors().mapValues { $0.hasPrefix("/") ? "file" : $0 }
    }

    // MARK: On the thread

    private func play() {
        ignoreSignals()
        for slot in 0..<LawProgram.loops { loops.append(makeLoop(slot)) }
        play(script: 0)
        if violation == nil, !program.endsAbruptly { goQuiet() }
        isGoingQuiet = true
        for index in itemsByIndex.indices where index % 2 == 0 { itemsByIndex[index]?.drop() }
        // The program does not invalidate items that a loop has: the loop's end deallocates them.
        for item in items where item.index % 3 == 0 { invalidate(item) }
        for item in items { item.checkThatItIsSilent() }
        for loop in loops where !loop.isReal { end(loop) }
        // The thread's own loop ends with the thread.
        for loop in loops where loop.isReal { loop.isEnding = true }
    }

    /// A signal without a source must not end the process.
    private func ignoreSignals() {
        for number in LawPlayer.signals { signal(number, SIG_IGN) }
        takeSignals()
    }

    /// The calling thread takes the signals that it sends to itself.
    private func takeSignals() {
        for number in LawPlayer.signals { System.unblock(number) }
    }

    private static let signals: Range<Int32> = 36..<64

    /// A signal that no other source of the program uses.
    func nextSignal() -> Int32 {
        defer { signals += 1 }
        precondition(signals < LawPlayer.signals.count)
        return LawPlayer.signals.lowerBound + Int32(signals)
    }

    func makeLoop(_ slot: Int) -> LawLoop {
        let isReal = slot == 0 && program.hasRealLoop
        let number = slot + LawProgram.loops * endedLoops.count
        let loop = isReal ? ThreadLoops.current.loopOfItsOwn : Loop(clock: clock)
        if program.isMonitored { loop.attach(monitor) }
        return LawLoop(number: number, loop, isReal: isReal, self)
    }

    // MARK: State

    /// The loop of the innermost run.
    var innermost: LawLoop? { runs.last }

    var isOutside: Bool { frames.isEmpty && runs.isEmpty }

    func number(of loop: Loop) -> Int? { (loops + endedLoops).first { $0.remains === loop }?.number }

    /// Whether all operations on it have returned.
    func isSettled(_ item: LawItem) -> Bool { item.operationsInProgress == 0 }

    private func item(_ index: Int) -> LawItem {
        if let item = itemsByIndex[index] { return item }
        let made = LawItem(index, self)
        itemsByIndex[index] = made
        items = itemsByIndex.compactMap { $0 }
        return made
    }

    func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        guard !condition, violation == nil else { return }
        violation = message()
        note("BROKEN: \(violation!)")
        for loop in loops { loop.endRuns() }
    }

    func note(_ line: @autoclosure () -> String) {
        if records { story.append(String(repeating: "  ", count: frames.count) + line()) }
    }

    func enter(_ frame: Frame) {
        note("\(frame)")
        frames.append(frame)
        switch frame {
        case .callout, .block: monitor.handlerBegins()
        // A limiter acts in its caller's call, or several times in a timer's.
        case .schedule, .cancel, .endHandler, .action, .release: break
        }
    }

    func leave() { frames.removeLast() }

    /// All that is true of a call that concerns the item at this moment.
    func contexts(for subject: AnyObject) -> [LawProgram.Context] {
        var contexts: [LawProgram.Context] = []
        if !isElsewhere || frames.count > framesOfOwnThread {
            let caller = caller(for: subject)
            contexts = caller == .main || caller == .own ? [caller] : [caller, .another]
        }
        if isElsewhere { contexts.append(.otherThread) }
        guard let innermost else { return contexts }
        let depth = runs.count { $0 === innermost }
        if depth == 2 { contexts.append(.nested) }
        if depth > 2 { contexts.append(.third) }
        if innermost.isHosted { contexts.append(.host) }
        return contexts
    }

    private func caller(for subject: AnyObject) -> LawProgram.Context {
        switch frames.last {
        case nil: .main
        case .block(let other) where other === subject: .own
        case .action(let other) where other === subject: .own
        case .release(let quota as LawQuota) where quota === subject: .own
        case .block: .block
        case .endHandler: .endHandler
        case .action: .action
        case .release: .deinit
        case .callout(let other) where other === subject: .own
        case .schedule(let other) where other === subject: .own
        case .cancel(let other) where other === subject: .own
        case .schedule: .schedule
        case .cancel: .cancel
        case .callout(let other):
            other.kind == .observer ? .observer : other.kind.isTimer ? .timer : .source
        }
    }

    // MARK: Playing

    func play(script: Int) {
        guard !isGoingQuiet else { return }
        checkLaws("when script \(script) begins")
        for step in program.scripts[script] {
            stepsLeft -= 1
            guard stepsLeft > 0, violation == nil else { return }
            note(LawProgram.describe(step))
            play(step)
            checkLaws("after \(LawProgram.describe(step))")
        }
    }

    private func play(_ step: LawProgram.Step) {
        switch step {
        case .place(let item, let modes, let loop): place(self.item(item), modes, loops[loop])
        case .operate(let operation, let item, let place):
            operate(operation, self.item(item), loops[place.loop], place.mode)
        case .post(let place, let script):
            count(.post, .block)
            post(loops[place.loop], place.mode, script)
        case .postLater(let place, let script, let isFar):
            count(.post, .delayedBlock)
            postLater(loops[place.loop], place.mode, script, isFar: isFar)
        case .withdraw(let script): withdraw(script)
        case .limit(let kind, let operation, let loop, let script): limit(kind, operation, loops[loop], script)
        case .quota(let operation, let loop, let script, let cost): quota(operation, loops[loop], script, cost)
        case .pace(let loop, let script): pace(loops[loop], script)
        case .onEnd(let loop, let script, let isCancelled): onEnd(loops[loop], script, isCancelled)
        case .host(let place): host(loops[place.loop], place.mode)
        case .lapse(let place): _ = run(loops[place.loop], place.mode, for: LawLimiter.interval * 3 / 5)
        case .elsewhere(let step): playElsewhere(step)
        }
    }

    private func count(_ operation: LawProgram.Operation, _ kind: LawProgram.Kind) {
        coverage.count(operation, kind, [.notWaiting], contexts(for: self))
    }

    /// The number of a join.
    func nextJoin() -> Int {
        joins += 1
        return joins
    }

    /// On a thread that lives for this step. Its loop is none of the program's.
    private func playElsewhere(_ step: LawProgram.Step) {
        guard !isElsewhere else { return play(step) }
        (isElsewhere, framesOfOwnThread) = (true, frames.count)
        let thread = try! System.startThread(stackSize: nil) { [unowned self] in
            takeSignals()
            play(step)
        }
        System.join(thread)
        isElsewhere = false
    }

    /// Through `common` at times, so that some of its modes are due to that.
    private func place(_ item: LawItem, _ count: Int, _ loop: LawLoop) {
        for other in item.loops where other != loop.number && !item.kind.isShared {
            loops.first { $0.number == other }.map { leave($0, item) }
        }
        let own = loop.isEnding ? [] : LawProgram.modes.map(loop.place)
        var others: [LawProgram.Place] = []
        if item.kind.isShared {
            others = loops.filter { $0 !== loop && !$0.isEnding }.flatMap { [$0.place("default"), $0.place("b")] }
        }
        // In turns.
        let wanted = LawProgram.modes.indices.flatMap { index in
            [own, others].compactMap { index < $0.count ? $0[index] : nil }
        }.prefix(count)
        if item.plan.variant >> 6 & 1 == 1 { add(item, to: loop, "common") }
        for place in item.places.subtracting(wanted).sorted(by: { $0.description < $1.description }) {
            loops.first { $0.number == place.loop }.map { remove(item, from: $0, place.mode) }
        }
        for place in wanted where !item.places.contains(place) {
            loops.first { $0.number == place.loop }.map { _ = add(item, to: $0, place.mode) }
        }
    }

    private func leave(_ loop: LawLoop, _ item: LawItem) {
        remove(item, from: loop, "common")
        for mode in LawProgram.modes { remove(item, from: loop, mode) }
    }

    private func operate(_ operation: LawProgram.Operation, _ item: LawItem, _ loop: LawLoop, _ mode: String) {
        let concerned = operation.concernsLoop ? items.filter { $0.loops.contains(loop.number) } : [item]
        let cells = concerned.map { ($0.kind, $0.states, contexts(for: $0)) }
        if carryOut(operation, item, loop, mode) {
            for (kind, states, contexts) in cells { coverage.count(operation, kind, states, contexts) }
        }
    }

    /// Returns false if there was nothing to do.
    private func carryOut(_ operation: LawProgram.Operation, _ item: LawItem, _ loop: LawLoop, _ mode: String) -> Bool {
        switch operation {
        case .add: return add(item, to: loop, mode)
        case .remove: remove(item, from: loop, mode)
        case .readd:
            let place = item.places.first ?? loop.place(mode)
            guard let home = loops.first(where: { $0.number == place.loop }) else { return false }
            remove(item, from: home, place.mode)
            return add(item, to: home, place.mode)
        case .move:
            for other in loops where item.loops.contains(other.number) { leave(other, item) }
            return add(item, to: loop, mode)
        case .invalidate: invalidate(item)
        case .drop: item.drop()
        case .trigger: item.send()
        case .rearm: arm(item, true)
        case .disarm: arm(item, false)
        case .changeInterest:
            let interests: [Loop.FileDescriptorSource.Interest] = [
                .read, [], [.read, .write], .write, [.read, .exclusive], [.read, .readHangUp, .exclusive],
            ]
            (item.item as? Loop.FileDescriptorSource)?.interest =
                interests[(stepsLeft + item.index) % interests.count]
        case .takeWaiting: item.takeWaiting()
        case .setHandler: during([item]) { item.setHandler() }
        case .retime:
            guard let timer = item.item as? Loop.Timer, let loop = loop.loop else { return false }
            let now = loop.now(timer.timeBase)
            if timer.timeBase == .wallClock, stepsLeft % 2 == 0, case .virtual(let clock) = loop.clock {
                for item in items { item.isTouched() }
                clock.setWallClock(to: stepsLeft % 4 == 0 ? now + farAway : now - farAway)
            } else {
                retime(timer, of: item, at: now)
            }
        case .setTolerance:
            item.setTolerance(to: LawPlayer.tolerances[stepsLeft % LawPlayer.tolerances.count])
        case .addCommonMode: addCommonMode(mode, to: loop)
        case .run: return run(loop, mode)
        case .stop: loop.stop()
        case .endLoop: return end(loop)
        default: return false
        }
        return true
    }

    private static let tolerances: [Duration] = [
        .zero, .microseconds(30), .microseconds(60), .microseconds(100), .seconds(-1), farAway,
    ]

    private func retime(_ timer: Loop.Timer, of item: LawItem, at now: Loop.Instant) {
        item.isTouched()
        item.due = nil
        switch stepsLeft % 6 {
        case 5: timer.isPrecise.toggle()
        case 0: timer.nextFireTime = nil
        case 1: timer.nextFireTime = now
        case 2: timer.nextFireTime = now.advanced(by: farAway)
        case let number:
            let isRestarted = number == 3 ? timer.restart() : timer.restart(after: .zero)
            if isSettled(item) {
                // A timer that fires once is not restarted by its own handler.
                expect(isRestarted ? item.isValid : !item.isValid || !item.repeats, "\(item): restarts: \(isRestarted)")
                if isRestarted, !item.places.isEmpty { expect(timer.nextFireTime != nil, "\(item): has no time") }
            }
        }
    }

    func arm(_ item: LawItem, _ armed: Bool) {
        if item.kind.canBeArmed { item.isArmed = armed }
        switch item.item {
        case let source as Loop.FileDescriptorSource: armed ? source.rearm() : source.disarm()
        case let port as Loop.MessagePort<LawItem.Message>: armed ? port.rearm() : port.disarm()
        case let connection as Loop.Connection: connection.isReceiving = armed
        default: break
        }
    }
}
