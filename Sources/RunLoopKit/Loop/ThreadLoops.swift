/// What a thread keeps: who it is, its loop, and which loop runs on it. Freed, and the loop ended, when the thread
/// ends.
final class ThreadLoops {
    let id: ThreadID
    private var ownLoop: Loop?

    /// The loop of the innermost run on this thread: its own, or one in virtual time.
    var runningLoop: Loop?

    /// The ended loop whose jobs run on this thread: the thread of last resort. Touched by the thread itself only.
    var standsInFor: Loop?

    private init() { id = ThreadID.make() }

    /// The calling thread's.
    static var current: ThreadLoops {
        if let known = System.value(of: key) { return Unmanaged<ThreadLoops>.fromOpaque(known).takeUnretainedValue() }
        let made = ThreadLoops()
        System.set(Unmanaged.passRetained(made).toOpaque(), for: key)
        return made
    }

    var loop: Loop { runningLoop ?? loopOfItsOwn }

    /// The one that is not some test's or caller's, whichever runs now. Made when it is first asked for.
    var loopOfItsOwn: Loop {
        if let ownLoop { return ownLoop }
        let made = id == .initial ? Loop.main : Loop(clock: .monotonic, owner: id)
        ownLoop = made
        return made
    }

    /// Gives the thread a loop made for it.
    func adopt(_ loop: Loop) { ownLoop = loop }

    private static let key: CThreadKey = System.makeThreadKey { pointer in
        guard let pointer else { return }
        // Cancel handlers that run now ask for Loop.current and find the ending loop, not a new one.
        System.set(pointer, for: ThreadLoops.key)
        let loops = Unmanaged<ThreadLoops>.fromOpaque(pointer).takeRetainedValue()
        withExtendedLifetime(loops) {
            // The initial thread ends before its process when it has been given away.
            (loops.id == .initial ? Loop.main : loops.ownLoop)?.end(tellingSources: true)
            System.set(nil, for: ThreadLoops.key)
        }
    }
}
