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
    var places: Set<LawProgram.Place> = [] {
        didSet { if !places.isEmpty { wasInMode = true } }
    }
    private(set) var wasInMode = false
    var commons: Set<Int> = []
    /// The places of its joins among all others.
    private var joined: [LawProgram.Place: Int] = [:]
    var joinedCommon = 0
    var isValid = true

    /// Operations on it that have not returned: while there are any, notifications are pending, and an epoll set may or
    /// may not watch an item that is being invalidated.
    var operationsInProgress = 0
    var invalidationsInProgress = 0
    var leaving: Set<LawProgram.Place> = []
    var callsInProgress = 0

    /// For a kind that can be disarmed.
    var isArmed = true
    private(set) var calls = 0

    /// Of a timer: when it is due next on its clock, if nothing but its own delay and interval says it.
    var due: Loop.Instant?
    var tolerance = Duration.zero
    /// Operations on it that may have moved it.
    private(set) var touches = 0

    var hasHandler = false
    weak var handlerClosure: Closure?

    /// Schedule minus cancel notifications.
    private(set) var notified: [LawProgram.Place: Int] = [:]
    private var notifications = (schedule: 0, cancel: 0)

    /// All of its closures, and those not released.
    var closures = 0
    /// Of a version-0 source: whether the signal that is pending wakes loops.
    var wakes = false
    var closuresAlive = 0
    private var releases = 0

    // The events sent to it, and their outcome.
    var accepted = 0
    var handled = 0
    var withdrawn = 0
    /// For a message port: its loop has ended, so it refuses messages.
    var hasLostItsLoop = false

    // What is behind it.
    private(set) var ends: Ends?
    private(set) var child: Child?
    private(set) var childProcess: Int32 = 0
    private(set) var folder: ScratchFolder?
    private(set) var signal: Int32 = 0
    var hasChildEnded = false

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
    /// A deinit may call back.
    func drop() {
        let dropped = reference
        reference = nil
        withExtendedLifetime(dropped) {}
    }

    var loops: Set<Int> { commons.union(places.map(\.loop)) }

    func bit(_ number: Int) -> Bool { plan.variant >> number & 1 == 1 }

    // MARK: Variants

    var repeats: Bool { !(kind.isTimer || kind == .observer) || bit(0) }
    /// For a timer: whether it waits to be restarted after a call, instead of repeating.
    var isRestartable: Bool { bit(0) && bit(1) }
    private var order: Int { plan.variant & 3 }
    var isOneShot: Bool { bit(0) && bit(1) }
    private var trigger: Loop.FileDescriptorSource.Trigger { bit(2) ? .edge : .level }
    private var usesSockets: Bool { bit(3) }
    /// Whether it reads before its script plays, or after it.
    var readsFirst: Bool { bit(4) }

    private var isLate: Bool { plan.isLate }

    private func make() -> Loop.Item {
        hasHandler = !isLate
        switch kind {
        case .source0 where !plan.isNotified:
            return isLate ? Loop.Source0(order: order) : Loop.Source0(order: order, perform: sourceHandler())
        case .source0:
            let (schedule, cancel) = (Closure(self), Closure(self))
            let schedules = { @Sendable (loop: Loop, mode: Loop.Mode) in schedule.item.hasJoined(mode, of: loop) }
            let cancels = { @Sendable (loop: Loop, mode: Loop.Mode) in cancel.item.hasLeft(mode, of: loop) }
            return Loop.Source0(
                order: order, schedule: schedules, cancel: cancels, perform: isLate ? nil : sourceHandler())
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
        case .childProcess: return startChildProcess()
        case .folder:
            folder = ScratchFolder()
            return try! Loop.FolderSource(
                folder!.path, options: bit(0) ? .subfolders : [], handler: isLate ? nil : folderHandler())
        case .connection:
            let ends = Ends.sockets()
            self.ends = ends
            ends.isReaderClosed = true
            let connection = try! Loop.Connection(owning: ends.reader, handler: isLate ? nil : connectionHandler())
            // It is never over, but its timer goes where the connection goes.
            if bit(0) { connection.idleLimit = .seconds(Int64.max) }
            return connection
        case .timer, .continuousTimer, .wallClockTimer:
            let timeBase: Loop.TimeBase = kind.timeBase!
            let delay = delay
            tolerance = allowed(plan.times?.tolerance ?? .zero)
            let handler = isLate ? nil : timerHandler()
            if isRestartable {
                return Loop.Timer(restartableAfter: delay, tolerance: tolerance, timeBase: timeBase, handler: handler)
            }
            return Loop.Timer(
                after: delay, repeating: repeats ? interval : nil, tolerance: plan.times?.tolerance ?? .zero,
                timeBase: timeBase, handler: handler)
        case .observer:
            let activities: [Loop.Activity] = [
                .all, .beforeSources, [.beforeWaiting, .afterWaiting], [.entry, .beforeTimers],
                [.beforeSources, .exit],
            ]
            // All of them observe the beginning of each run, on which programs rely.
            return Loop.Observer(
                activities[(plan.variant >> 1) % activities.count].union(.beforeSources), repeats: repeats,
                order: order, handler: isLate ? nil : observerHandler())
        default: preconditionFailure("no item")
        }
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

    /// A shell that ends at the end of a line.
    private func startChildProcess() -> Loop.Item {
        let hold = Ends.blockingPipe()
        ends = hold
        let child = try! Loop.ChildProcess(
            "/bin/sh", ["-c", "read line; exit 7"], input: .descriptor(hold.reader),
            handler: isLate ? nil : childProcessHandler())
        childProcess = child.process
        return child
    }

    // MARK: Calls

    func call(isValid expected: Bool = true, _ body: (LawItem) -> Void) {
        player.enter(.callout(of: self))
        callsInProgress += 1
        calls += 1
        player.expect(isValid == expected, "\(self) is called although it is invalid")
        player.expect(isArmed, "\(self) is called although it is disarmed")
        player.expect(hasHandler, "\(self) is called without a handler")
        if kind.canBeArmed, kind != .connection, isOneShot { isArmed = false }
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

    /// What a handler has captured is deallocated.
    func playRelease(isReplaced: Bool) {
        releases += 1
        guard releases <= plan.releaseScripts.count else { return }
        if !isValid, !isReplaced { checkThatItHasLeft() }
        player.enter(.release(of: self))
        player.play(script: plan.releaseScripts[releases - 1])
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

    /// Returns false if it is there.
    @discardableResult
    func join(_ place: LawProgram.Place) -> Bool {
        guard places.insert(place).inserted else { return false }
        joined[place] = player.nextJoin()
        return true
    }

    /// An observer is called.
    func checkItsOrder() {
        guard let loop = player.innermost, let mode = loop.loop?.currentMode else { return }
        let place = loop.place(mode.name)
        guard places.contains(place), let joined = joined[place] else { return }
        player.expect(loop.state.order.allows(order, joined: joined), "\(self) is called too late in \(place)")
    }

    func isTouched() { touches += 1 }

    func becomeInvalid() {
        isValid = false
        places = []
        commons = []
    }
}

extension LawItem: CustomStringConvertible {
    var description: String { "item \(index) (\(kind))" }
}
