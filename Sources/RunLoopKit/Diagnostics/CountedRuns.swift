/// The counts of the runs of a loop, one for each run, the innermost last. Accessed only by the loop's thread.
///
/// Each run counts for itself: the passes of a nested run begin from zero, and the run below continues with its own
/// counts. It therefore does not matter how long a modal run lasts.
final class CountedRuns {
    private var runs: [PassCounts] = []

    /// The number of runs below the innermost one.
    var depth: Int { max(0, runs.count - 1) }

    /// The mode of the innermost run that is known.
    var innermostMode: Loop.Mode? { runs.last?.mode }

    /// The counts of the innermost run, which is in `mode`. Makes them if no observer has seen the run begin: the
    /// detector is newer than the run, or the run's mode is not a common one.
    func current(in mode: Loop.Mode) -> PassCounts {
        if let last = runs.last, last.mode == mode { return last }
        let made = PassCounts(in: mode)
        runs.append(made)
        return made
    }

    /// Called before the other observers of an activity.
    func reach(_ activity: Loop.Activity, in mode: Loop.Mode) {
        if activity == .entry { runs.append(PassCounts(in: mode)) }
        current(in: mode).reach(activity)
    }

    /// Called after the other observers of an activity.
    func leave(_ activity: Loop.Activity, in mode: Loop.Mode) {
        guard let last = runs.last, last.mode == mode else { return }
        if activity == .exit { runs.removeLast() } else { last.rest() }
    }
}
