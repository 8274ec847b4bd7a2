import RunLoopKit

/// What a run counts within its present pass. Accessed only by the loop's thread.
///
/// A pass begins at beforeTimers. It ends with the next one, or after the beforeWaiting observers: the handlers of what
/// wakes the loop count from zero.
final class PassCounts {
    let mode: Loop.Mode

    /// The last activity of the run; nil if the run has had none since the detector exists.
    private(set) var activity: Loop.Activity?

    /// False while the loop sleeps. A host calls its own handlers then, in any number: these are no pass of the loop.
    private(set) var isCounting = true

    private(set) var objects = SubjectTable()
    private(set) var types = SubjectTable()
    private(set) var recording = RecordedCalls()

    /// The watched calls that are active, innermost last.
    private var active: [CallTally] = []

    init(in mode: Loop.Mode) { self.mode = mode }

    // MARK: The pass

    /// The run has come to an activity.
    func reach(_ activity: Loop.Activity) {
        self.activity = activity
        if activity == .beforeTimers || activity == .afterWaiting { begin() }
    }

    /// Begins to count from zero.
    private func begin() {
        isCounting = true
        guard recording.total > 0 else { return }
        objects.removeAll()
        types.removeAll()
        recording.removeAll()
    }

    /// All beforeWaiting observers have been called.
    func rest() {
        begin()
        isCounting = false
    }

    // MARK: Calls

    /// The tally of a target's calls; nil if there is none yet.
    func tally(of target: FeedbackLoopDetector.Target, _ name: String) -> CallTally? {
        objects.tally(of: target.id, name)
    }

    func makeTally(of subject: CountedSubject, _ name: String) -> CallTally {
        let tally = subject.makeTally(name)
        objects.insert(tally)
        return tally
    }

    /// The tally of the calls to all objects of a tally's type.
    func typeTally(of tally: CallTally) -> CallTally {
        let type = tally.subject.type
        if let known = types.tally(of: ObjectIdentifier(type), tally.name) { return known }
        let made = CountedSubject(type: type).makeTally(tally.name)
        types.insert(made)
        return made
    }

    func record(
        _ tally: CallTally, _ typeTally: CallTally, cause: String?, site: CallSite?, backtrace: [UInt]
    ) {
        tally.count += 1
        typeTally.count += 1
        recording.append(
            RecordedCall(
                tally: tally, enclosing: active.last, cause: cause, site: site, backtrace: backtrace))
    }

    func beginCall(_ tally: CallTally) { active.append(tally) }

    func endCall() { active.removeLast() }
}
