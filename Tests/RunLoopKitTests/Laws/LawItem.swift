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

/// An item in a program, and the laws' model of it, which changes together with the item.
final class LawItem: @unchecked Sendable {
    let index: Int
    let plan: LawProgram.Item
    unowned let player: LawPlayer

    /// The program's own reference; nil once the program has released it.
    private(set) var reference: Loop.Item?
    private(set) weak var remains: Loop.Item?

    // MARK: The model

    /// Its modes. `commons` has the loops to whose `common` it was added.
    var places: Set<LawProgram.Place> = []
    var commons: Set<Int> = []
    var isValid = true

    /// Operations on it that have not returned: while there are any, notifications are pending, and an epoll set may or
    /// may not watch an item that is being invalidated.
    var operationsInProgress = 0
    var leaving: Set<LawProgram.Place> = []
    var callsInProgress = 0

    /// For a kind that can be disarmed.
    var isArmed = true
    private(set) var calls = 0

    private(set) var hasHandler = false
    private weak var handlerClosure: Closure?

    /// Schedule minus cancel notifications.
    private(set) var notified: [LawProgram.Place: Int] = [:]
    private var notifications = (schedule: 0, cancel: 0)

    /// All of its closures, and those not released.
    private(set) var closures = 0
    fileprivate(set) var closuresAlive = 0

    // The events sent to it, and their outcome.
    var accepted = 0
    var handled = 0
    var withdrawn = 0
    /// For a message port: its loop has ended, so it refuses messages.
    var hasLostItsLoop = false

    private(set) var ends: Ends?
    private(set) var child: Child?
    private var hasChildEnded = false
    private(set) var signal: Int32 = 0

    init(_ index: Int, _ player: LawPlayer) {
        self.index = index
        self.player = player
        plan = player.program.items[index]
        let item = make()
        reference = item
        remains = item
    }

    /// The item while it exists. A loop may have it after the program has released its reference.
    var item: Loop.Item? { reference ?? remains }
    var kind: LawProgram.Kind { plan.kind }
    func drop() { reference = nil }

    var loops: Set<Int> { commons.union(places.map(\.loop)) }

    private func bit(_ number: Int) -> Bool { plan.variant >> number & 1 == 1 }

    // MARK: Variants

    var repeats: Bool { !(kind.isTimer || kind == .observer) || bit(0) }
    /// For a timer: whether it waits to be restarted after a call, instead of repeating.
    private var isRestartable: Bool { bit(0) && bit(1) }
    private var order: Int { plan.variant & 3 }
    private var isOneShot: Bool { bit(0) && bit(1) }
    private var trigger: Loop.FileDescriptorSource.Trigger { bit(2) ? .edge : .level }
    private var usesSockets: Bool { bit(3) }
    /// Whether it reads before its script plays, or after it.
    private var readsFirst: Bool { bit(4) }

    /// Whether it is made without a handler, and gets one later.
    private var isLate: Bool { bit(10) && !plan.hasHandlerAtFirst }

    private func make() -> Loop.Item {
        hasHandler = !isLate
        switch kind {
        case .source0:
            let (schedule, cancel) = (Closure(self), Closure(self))
            let schedules = { @Sendable (loop: Loop, mode: Loop.Mode) in schedule.item.hasJoined(mode, of: loop) }
            let cancels = { @Sendable (loop: Loop, mode: Loop.Mode) in cancel.item.hasLeft(mode, of: loop) }
            if isLate { return Loop.Source0(order: order, schedule: schedules, cancel: cancels) }
            return Loop.Source0(order: order, schedule: schedules, cancel: cancels, perform: sourceHandler())
        case .portSource: return try! Loop.PortSource(handler: isLate ? nil : portHandler())
        case .messagePort:
            return Loop.MessagePort<Message>(isOneShot: isOneShot, handler: isLate ? nil : messageHandler())
        case .borrowedDescriptor, .ownedDescriptor: return makeDescriptorSource()
        case .signal:
            signal = player.nextSignal()
            return try! Loop.SignalSource(signal, handler: isLate ? nil : signalHandler())
        case .process:
            child = Child.waiting(toExitWith: 7)
            return try! Loop.ProcessSource(
                child!.number, reaping: bit(0), handler: isLate ? nil : processHandler())
        case .timer, .continuousTimer, .wallClockTimer:
            let timeBase: Loop.TimeBase = kind.timeBase!
            let delay = plan.isDue ? Duration.zero : farAway
            let handler = isLate ? nil : timerHandler()
            if isRestartable {
                return Loop.Timer(restartableAfter: delay, timeBase: timeBase, handler: handler)
            }
            return Loop.Timer(
                after: delay, repeating: repeats ? farAway : nil, timeBase: timeBase, handler: handler)
        case .observer:
            let activities: [Loop.Activity] = [
                .all, .beforeSources, [.beforeWaiting, .afterWaiting], [.entry, .beforeTimers],
                [.beforeSources, .exit],
            ]
            // All of them observe the beginning of each run, on which programs rely.
            return Loop.Observer(
                activities[(plan.variant >> 1) % activities.count].union(.beforeSources), repeats: repeats,
                order: order, handler: isLate ? nil : observerHandler())
        }
    }

    // MARK: Handlers

    private func makeHandlerClosure() -> Closure {
        let closure = Closure(self)
        handlerClosure = closure
        return closure
    }

    private func sourceHandler() -> @Sendable () -> Void {
        let closure = makeHandlerClosure()
        return { closure.item.call { $0.handled += 1 } }
    }

    private func portHandler() -> @Sendable (Int) -> Void {
        let closure = makeHandlerClosure()
        return { count in closure.item.call { $0.handled += count } }
    }

    private func messageHandler() -> @Sendable (Message) -> Void {
        let closure = makeHandlerClosure()
        return { message in
            closure.item.call {
                $0.player.expect(message.number == $0.handled + $0.withdrawn, "\($0): not the next message")
                $0.handled += 1
            }
        }
    }

    private func signalHandler() -> Loop.SignalSource.Handler {
        let closure = makeHandlerClosure()
        return { _, arrivals in closure.item.call { $0.handled += arrivals.count } }
    }

    private func processHandler() -> Loop.ProcessSource.Handler {
        let closure = makeHandlerClosure()
        return { _, exit in
            let item = closure.item
            item.player.expect(exit == .exited(7), "\(item): \(exit)")
            item.handled += 1
            // It is invalid before its handler is called.
            item.becomeInvalid()
            item.call(isValid: false) { _ in }
        }
    }

    private func timerHandler() -> @Sendable (Loop.Timer.Firing) -> Void {
        let closure = makeHandlerClosure()
        return { firing in
            let item = closure.item
            let now = item.player.innermost?.loop?.now(firing.timer.timeBase)
            item.player.expect(now.map { firing.scheduledTime <= $0 } ?? false, "\(item): fires early")
            item.call { $0.handled += 1 }
            // The library invalidates a timer that fires once when its handler has returned.
            if !item.repeats { item.becomeInvalid() }
        }
    }

    private func observerHandler() -> @Sendable (Loop.Observer, Loop.Activity) -> Void {
        let closure = makeHandlerClosure()
        return { _, _ in
            let item = closure.item
            item.call { $0.handled += 1 }
            if !item.repeats { item.becomeInvalid() }
        }
    }

    private func descriptorHandler() -> Loop.FileDescriptorSource.Handler {
        let closure = makeHandlerClosure()
        return { source, ready in
            closure.item.call { item in
                if item.readsFirst { item.readAll() }
                // It is always writable: otherwise it would keep the loop busy.
                if ready.contains(.writable), item.player.isGoingQuiet || item.calls > 4 { source.interest = .read }
            }
            closure.item.readAll()
        }
    }

    /// Sets the first handler, or replaces it.
    func setHandler() {
        guard let item else { return }
        let expected = isValid
        handlerClosure?.isReplaced = true
        // The old one counts no more. A call that runs may have a reference to it.
        if hasHandler { closures -= 1 }
        hasHandler = true
        let answer =
            switch item {
            case let source as Loop.Source0: source.setHandler(sourceHandler())
            case let port as Loop.PortSource: port.setHandler(portHandler())
            case let port as Loop.MessagePort<Message>: port.setHandler(messageHandler())
            case let source as Loop.FileDescriptorSource: source.setHandler(descriptorHandler())
            case let source as Loop.SignalSource: source.setHandler(signalHandler())
            case let source as Loop.ProcessSource: source.setHandler(processHandler())
            case let timer as Loop.Timer: timer.setHandler(timerHandler())
            default: (item as! Loop.Observer).setHandler(observerHandler())
            }
        player.expect(answer == expected, "\(self): takes a handler: \(answer)")
    }

    private func makeDescriptorSource() -> Loop.Item {
        let ends = usesSockets ? Ends.sockets() : Ends.pipe()
        self.ends = ends
        let handler = isLate ? nil : descriptorHandler()
        if kind == .borrowedDescriptor {
            return try! Loop.FileDescriptorSource(
                ends.reader, trigger: trigger, isOneShot: isOneShot, handler: handler)
        }
        ends.isReaderClosed = true
        return try! Loop.FileDescriptorSource(
            owning: ends.reader, trigger: trigger, isOneShot: isOneShot, handler: handler)
    }

    // MARK: Calls

    private func call(isValid expected: Bool = true, _ body: (LawItem) -> Void) {
        player.enter(.callout(of: self))
        callsInProgress += 1
        calls += 1
        player.expect(isValid == expected, "\(self) is called although it is invalid")
        player.expect(isArmed, "\(self) is called although it is disarmed")
        player.expect(hasHandler, "\(self) is called without a handler")
        if kind.canBeArmed, isOneShot { isArmed = false }
        let isInPlace = player.innermost.map { loop in
            // A pass collects the observers and version-0 sources of a step, and timers, before it calls them.
            places.contains { $0.loop == loop.number && (kind.isTimer || $0.mode == loop.loop?.currentMode?.name) }
        }
        if expected, kind != .observer, kind != .source0 {
            player.expect(isInPlace ?? false, "\(self) is called in a mode that it is not in")
        }
        body(self)
        if calls <= plan.scripts.count {
            player.play(script: plan.scripts[calls - 1])
        } else {
            player.checkLaws("at a call of \(self)")
        }
        callsInProgress -= 1
        player.leave()
    }

    private func hasJoined(_ mode: Loop.Mode, of loop: Loop) {
        notify(mode, of: loop, by: 1, .schedule(of: self), plan.scheduleScripts, \.schedule)
    }

    private func hasLeft(_ mode: Loop.Mode, of loop: Loop) {
        notify(mode, of: loop, by: -1, .cancel(of: self), plan.cancelScripts, \.cancel)
    }

    private func notify(
        _ mode: Loop.Mode, of loop: Loop, by step: Int, _ frame: LawPlayer.Frame, _ scripts: [Int],
        _ counter: WritableKeyPath<(schedule: Int, cancel: Int), Int>
    ) {
        player.enter(frame)
        callsInProgress += 1
        player.note("\(self): \(step > 0 ? "schedule" : "cancel") in \(mode)")
        if let number = player.number(of: loop) {
            notified[.init(loop: number, mode: mode.name), default: 0] += step
        } else {
            player.expect(false, "\(self): notified of a loop that is none")
        }
        let count = notifications[keyPath: counter]
        notifications[keyPath: counter] += 1
        if count < scripts.count { player.play(script: scripts[count]) }
        callsInProgress -= 1
        player.leave()
    }

    // MARK: Changes of the model

    func becomeInvalid() {
        isValid = false
        places = []
        commons = []
    }

    // MARK: Sending

    func send() {
        // Several at times: if a handler removes or disarms the item, the rest has to wait.
        for _ in 0...(bit(7) && kind == .messagePort ? 2 : 0) { sendOne() }
    }

    private func sendOne() {
        guard let item else { return }
        switch kind {
        case .source0:
            (item as! Loop.Source0).signal(wake: bit(5))
            if isValid { accepted += 1 }
        case .portSource:
            (item as! Loop.PortSource).send()
            if isValid { accepted += 1 }
        case .messagePort:
            let expected = isValid && !hasLostItsLoop
            let isAccepted = (item as! Loop.MessagePort<Message>).send(Message(accepted, player))
            // A message object is made, and later deallocated, in any case.
            if player.isSettled(self) {
                player.expect(isAccepted == expected, "\(self): a message is accepted: \(isAccepted)")
            }
            if isAccepted { accepted += 1 }
        case .borrowedDescriptor, .ownedDescriptor:
            let bytes: [UInt8] = [1]
            if write(ends!.writer, bytes, 1) == 1 { accepted += 1 }
        case .signal:
            pthread_kill(pthread_self(), signal)
            if isValid { accepted += 1 }
        case .process:
            guard !hasChildEnded else { return }
            hasChildEnded = true
            child!.goOn()
            waitForEnd(of: child!.number)
            accepted += 1
        case .timer, .continuousTimer, .wallClockTimer, .observer: break
        }
    }

    func takeWaiting() {
        guard let port = item as? Loop.MessagePort<Message> else { return }
        for message in port.takeWaiting() {
            player.expect(message.number == handled + withdrawn, "\(self): not the next message that waits")
            withdrawn += 1
        }
    }

    private func readAll() {
        guard isOpenForUs else { return }
        while let text = ends!.take(), !text.isEmpty { handled += text.utf8.count }
    }

    /// Whether the reading end may be used: an owned one is closed with its source.
    private var isOpenForUs: Bool {
        guard kind.isDescriptor else { return false }
        return kind == .borrowedDescriptor || (item.map { ($0 as! Loop.FileDescriptorSource).descriptor >= 0 } ?? false)
    }

    // MARK: Laws

    /// Whether everything that was sent to it has been handled, for an item that reports.
    var isQuiet: Bool {
        guard isValid, hasHandler, let item else { return true }
        switch item {
        case let source as Loop.Source0: return !source.isSignalled
        case let port as Loop.MessagePort<Message>: return port.waitingCount == 0 && accepted == handled + withdrawn
        case let timer as Loop.Timer:
            guard let loop = player.loops.first(where: { places.first?.loop == $0.number })?.loop else { return true }
            return timer.nextFireTime.map { $0 > loop.now(timer.timeBase) } ?? true
        case is Loop.Observer: return true
        default: return handled == accepted
        }
    }

    func checkItself() {
        if kind == .source0 || kind == .process {
            player.expect(handled <= accepted, "\(self): \(handled) calls for \(accepted) signals")
        }
        guard player.isSettled(self) else { return }
        if kind == .source0 {
            let expected = Dictionary(uniqueKeysWithValues: places.map { ($0, 1) })
            let found = notified.filter { $0.value != 0 }
            player.expect(found == expected, "\(self): schedule less cancel notifications: \(found), not \(expected)")
        }
        if isValid, item != nil {
            let areAlive = closuresAlive == closures || closuresAlive > closures && callsInProgress > 0
            player.expect(areAlive, "\(self): \(closuresAlive) handlers while it is valid, not \(closures)")
        } else if callsInProgress == 0, !isValid || player.isOutside {
            player.expect(closuresAlive == 0, "\(self): \(closuresAlive) handlers not released")
        }
        guard let item else { return }
        player.expect(item.isValid == isValid, "\(self): valid: \(item.isValid)")
        let armed = (item as? Loop.FileDescriptorSource)?.isArmed ?? (item as? Loop.MessagePort<Message>)?.isArmed
        player.expect(armed == nil || armed == isArmed, "\(self): armed: \(armed ?? false)")
        // Whether the other end sees a hang-up.
        if kind == .ownedDescriptor {
            player.expect(isHungUp == (!isValid && callsInProgress == 0), "\(self): closed: \(isHungUp)")
        }
    }

    /// An invalid signal source listens no more: a signal that another listener hears does not reach its pipe.
    func checkThatItIsSilent() {
        guard !isValid, let source = item as? Loop.SignalSource else { return }
        let listener = try! SignalListener(signal)
        defer { listener.stop() }
        // What came before the end, and waits.
        var bytes = [UInt8](repeating: 0, count: 4096)
        while read(source.watches[0].descriptor, &bytes, bytes.count) > 0 {}
        pthread_kill(pthread_self(), signal)
        player.expect(listener.takeArrivals().count == 1, "\(self): its signal does not arrive elsewhere")
        let readiness = System.readiness(of: source.watches[0].descriptor, for: .read)
        player.expect(!readiness.contains(.read), "\(self): is invalid and still listens")
    }

    /// A closure of the item has been released.
    fileprivate func closureIsReleased(isReplaced: Bool) {
        closuresAlive -= 1
        player.expect(closuresAlive >= 0, "\(self): released twice")
        guard !isReplaced, kind == .source0, operationsInProgress < 2 else { return }
        let due = notified.filter { $0.value != 0 }
        player.expect(due.isEmpty, "\(self): released before its last notification: \(due)")
    }

    private var isHungUp: Bool {
        var request = pollfd(fd: ends!.writer, events: 0, revents: 0)
        return poll(&request, 1, 0) == 1
    }

    /// At the end, after its deallocation.
    func checkDescriptorsAreClosed() {
        guard let ends else { return }
        if kind == .borrowedDescriptor { ends.stopReading() }
        player.expect(isHungUp, "\(self): its descriptor, or a duplicate, is still open")
    }

    func endChild() {
        guard let child else { return }
        if !hasChildEnded { child.goOn() }
        reap(child.number)
    }

    /// An object that a handler captures: its deinit shows the release, which must come without a lock, since the
    /// deinit of a program's object may do anything.
    private final class Closure: @unchecked Sendable {
        unowned let item: LawItem
        /// Whether the item has got another one in its place, or was invalid when it got this one.
        var isReplaced: Bool

        init(_ item: LawItem) {
            self.item = item
            isReplaced = !item.isValid
            item.closures += 1
            item.closuresAlive += 1
        }

        deinit {
            Lock.assertNoneHeld()
            item.closureIsReleased(isReplaced: isReplaced)
        }
    }

    /// The element of message ports.
    final class Message: @unchecked Sendable {
        let number: Int
        private unowned let player: LawPlayer

        init(_ number: Int, _ player: LawPlayer) {
            (self.number, self.player) = (number, player)
            player.messagesAlive += 1
        }

        deinit {
            Lock.assertNoneHeld()
            player.messagesAlive -= 1
        }
    }
}

extension LawItem: CustomStringConvertible {
    var description: String { "item \(index) (\(kind))" }
}

/// So far in the future that it is never due while a program plays.
let farAway = Duration.seconds(100_000)

extension Child {
    /// A shell that waits for `goOn()`, and has started: a new process has all descriptors of its parent until its
    /// program starts, and keeps those open that the parent closes meanwhile.
    fileprivate static func waiting(toExitWith code: Int) -> Child {
        let (hold, beginning) = (Ends.blockingPipe(), Ends.blockingPipe())
        let child = Child(
            "/bin/sh", ["-c", "echo; read line <&3; exit \(code)"], input: hold.reader, output: beginning.writer,
            hold: hold)
        _ = beginning.take(1)
        return child
    }
}
