import RunLoopKit

/// The counts of the runs of a loop, one for each run that has counted, the innermost last. Accessed only by the loop's
/// thread.
///
/// Each run counts for itself: the passes of a nested run begin from zero, and the run below continues with its own
/// counts. It therefore does not matter how long a modal run lasts. A pass that a host makes is a run, too.
final class CountedRuns {
    private var runs: [(run: Run, counts: PassCounts)] = []

    /// The number of counted runs below the innermost one.
    var depth: Int { max(0, runs.count - 1) }

    /// The counts of a run, which is the innermost one; nil if it has none.
    func counts(of run: Run) -> PassCounts? {
        if let last = runs.last, last.run === run { return last.counts }
        // Those that have ended. The references keep their addresses from being reused.
        while let last = runs.last, !run.stack.contains(where: { $0 === last.run }) { runs.removeLast() }
        return runs.last.flatMap { $0.run === run ? $0.counts : nil }
    }

    /// Makes the counts of a run, which is the innermost one and has none.
    func makeCounts(of run: Run) -> PassCounts {
        let made = PassCounts(in: run.publicMode)
        runs.append((run, made))
        return made
    }

    /// Called before the other observers of an activity.
    func reach(_ activity: Loop.Activity, in run: Run) {
        (counts(of: run) ?? makeCounts(of: run)).reach(activity)
    }

    /// Called after the other observers of an activity.
    func leave(_ activity: Loop.Activity, in run: Run) {
        guard let counts = counts(of: run) else { return }
        if activity == .exit { runs.removeLast() } else { counts.rest() }
    }
}
