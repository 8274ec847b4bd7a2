/// A child process, its group, and its pidfd: signals them, ends them, and reaps the child. It outlives the item.
///
/// | the child | then | and |
/// |---|---|---|
/// | runs | `release()`: the item will not report its exit | a thread waits for its end, and `settle()` |
/// | has ended, and others of its group have a grace period | the last of them ends | the period is over |
/// | the same | `finishEnd()` | SIGKILL; the period is over |
/// | has ended, and no period runs | `release()`: its exit is reported | it is reaped |
///
/// The child keeps its number, which is also that of its group, until it is reaped. So a signal is sent only before,
/// with the lock held, and never reaches another process.
final class ChildGroup: @unchecked Sendable {
    let process: Int32

    /// A pidfd; or an eventfd that is readable, of a child that was reaped before there was a pidfd.
    let processFD: Descriptor
    private let isLost: Bool

    private let lock = Lock(.leaf)

    /// Killed: or ended before.
    private enum End { case none, asked, counting, killed }

    private typealias Completion = @Sendable () -> Void

    // Guarded by the lock, and exclusivity is unchecked for that.
    @exclusivity(unchecked) private var end = End.none
    @exclusivity(unchecked) private var isReleased = false
    @exclusivity(unchecked) private var isReaped = false

    /// The timer of the grace period, which retains this object.
    @exclusivity(unchecked) private weak var timer: Loop.Timer?

    /// Reports the end of one of the others in the group, during a grace period. It retains this object.
    @exclusivity(unchecked) private weak var other: Loop.FileDescriptorSource?

    /// Called when the grace period is over: by the child, to report its exit, or by who waits for the others.
    @exclusivity(unchecked) private var completion: Completion?

    init(_ process: Int32, _ processFD: Descriptor, isLost: Bool) {
        (self.process, self.processFD, self.isLost) = (process, processFD, isLost)
    }

    deinit { System.close(processFD) }

    /// How the child has ended; nil if it has not. Reaps nothing.
    var exit: Loop.ProcessSource.Exit? {
        switch wait() {
        case .running: nil
        case .exited(let code): .exited(code)
        case .killed(let signal, let coreDumped): .signalled(signal, coreDumped: coreDumped)
        case .unknown: .unknown
        }
    }

    private func wait(reaping: Bool = false) -> System.WaitResult {
        isLost ? .unknown : System.wait(forProcess: processFD, reaping: reaping)
    }

    /// Whether the child has its number still. The lock is held.
    private var hasNumberWhileLocked: Bool {
        if !isReaped, case .unknown = wait() { isReaped = true }
        return !isReaped
    }

    // MARK: Signals

    func signal(_ number: Int32) -> Bool {
        lock.withLock { hasNumberWhileLocked && System.signal(group: process, number) }
    }

    /// Sends SIGTERM, once.
    ///
    /// - Parameter counts: Whether `finishEnd()` is called later.
    /// - Returns: False if the child has been reaped.
    func beginEnd(counts: Bool) -> Bool {
        lock.withLock {
            guard hasNumberWhileLocked else { return false }
            if end == .none {
                System.terminate(group: process)
                end = .asked
            }
            if counts, end == .asked { end = .counting }
            return true
        }
    }

    /// Whether SIGKILL is to come.
    var isCounting: Bool { lock.withLock { end == .counting } }

    var isEnding: Bool { lock.withLock { end != .none } }

    /// Calls `body`, on any thread, when the grace period is over, since nothing in the group lives, or SIGKILL was
    /// sent. Returns false if none runs.
    func notifyOfEnd(_ body: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            guard end == .counting, !isReaped else { return false }
            completion = body
            return true
        }
    }

    /// Whether the end of the child, which has ended, is that of its group: no grace period runs, or nothing else in
    /// the group lives. Otherwise calls `body` when that is so.
    func isOver(orCall body: @escaping @Sendable () -> Void) -> Bool {
        guard notifyOfEnd(body) else { return true }
        settle()
        return !isCounting
    }

    /// Whether anything in the group lives, besides the child, which has ended. True if that is unknown.
    var hasOthers: Bool {
        switch lock.withLock({ hasNumberWhileLocked ? System.member(ofGroup: process) : .none }) {
        case .none: return false
        case .unknown: return true
        case .living(let processFD):
            System.close(processFD)
            return true
        }
    }

    /// The timer of the grace period, if there is one.
    var graceTimer: Loop.Timer? { lock.withLock { timer } }

    /// Keeps the timer, to invalidate it when there is nothing left to end. Returns false if that is so now.
    func attach(_ timer: Loop.Timer) -> Bool {
        lock.withLock {
            guard !isReaped, end == .counting else { return false }
            self.timer = timer
            return true
        }
    }

    /// The grace period is over: sends SIGKILL. A second call does nothing.
    func finishEnd() {
        let (timer, other, completion) = lock.withLock {
            () -> (Loop.Timer?, Loop.FileDescriptorSource?, Completion?) in
            guard end == .counting else { return (nil, nil, nil) }
            end = .killed
            guard hasNumberWhileLocked else { return (self.timer, self.other, self.completion.take()) }
            System.kill(group: process)
            // Otherwise the item, or the thread that waits for the child's end, reaps it.
            if isReleased, exit != nil { reapWhileLocked() }
            return (isReaped ? self.timer : nil, self.other, self.completion.take())
        }
        completion?()
        timer?.retire()
        other?.retire()
    }

    // MARK: Reaping

    private func reapWhileLocked() {
        _ = wait(reaping: true)
        isReaped = true
    }

    /// The item no longer needs the exit. Reaps the child: now, when it ends, or when its group is killed.
    func release() {
        let isFirst = lock.withLock {
            defer { isReleased = true }
            return !isReleased
        }
        guard isFirst else { return }
        if exit != nil { return settle() }
        // Without a thread the child stays a zombie after its end, until this process ends.
        let thread = try? System.startThread(stackSize: nil) { [self] in
            System.blockAllSignals()
            System.waitForEnd(of: processFD)
            settle()
        }
        if let thread { System.detach(thread) }
    }

    /// Ends the grace period if nothing in the group of the child, which has ended, lives. Reaps the child, unless its
    /// exit is still to be reported, or others are to be killed later: until then it keeps the number for them.
    private func settle() {
        var member = System.GroupMember.none
        let (timer, completion) = lock.withLock { () -> (Loop.Timer?, Completion?) in
            // By other code, perhaps: another group may have the number.
            guard hasNumberWhileLocked else { return (self.timer, self.completion.take()) }
            if end == .counting { member = System.member(ofGroup: process) }
            guard case .none = member else { return (nil, nil) }
            if end == .counting { end = .killed }
            if isReleased { reapWhileLocked() }
            return (self.timer, self.completion.take())
        }
        // Before the timer, which keeps the run going.
        completion?()
        timer?.retire()
        if case .living(let processFD) = member { watch(processFD) }
    }

    /// Settles again when another process of the group has ended: in the modes of the timer, which are those that
    /// count. Until they do, `timerIsCounting()` is still to come.
    private func watch(_ otherFD: Descriptor) {
        guard let modes = graceTimer?.currentModes, !modes.isEmpty else { return System.close(otherFD) }
        let source = try? Loop.FileDescriptorSource(
            owning: otherFD, label: "others in the group of process \(process)"
        ) { [self] source, _ in
            lock.withLock { other = nil }
            source.invalidate()
            settle()
        }
        // Without a descriptor the period lasts to its end.
        guard let source else { return System.close(otherFD) }
        // The other one is released without the lock: it may be the last reference.
        let (isFirst, _) = lock.withLock { () -> (Bool, Loop.FileDescriptorSource?) in
            let known = other
            guard end == .counting, !isReaped, known == nil else { return (false, known) }
            other = source
            return (true, nil)
        }
        guard isFirst else { return source.invalidate() }
        for mode in modes { mode.loop?.insert(source, in: mode.mode) }
        // The loop may have ended meanwhile.
        if source.currentModes.isEmpty { source.invalidate() }
    }

    /// The child has left a mode: the others in its group are watched anew in those that it joins.
    func forgetOthers() { lock.withLock { exchange(&other, with: nil) }?.invalidate() }

    /// The timer of the grace period is in its modes. The child may have ended before.
    func timerIsCounting() {
        if lock.withLock({ (isReleased || completion != nil) && !isReaped }), exit != nil { settle() }
    }
}
