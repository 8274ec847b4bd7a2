import WeakMemory

/// A site whose order is stronger than its protocol needs, and why.
struct StrongerThanNeeded {
    let site: String
    /// The weaker orders at which no model finds a bad end.
    let suffices: Set<Order>
    let reason: String

    static let all = [
        StrongerThanNeeded(
            site: "Readers.leave word.wrappingSubtract", suffices: [.acquiringAndReleasing, .releasing],
            reason: "A reader that leaves only releases. A locked instruction in any order on x86-64."),
        StrongerThanNeeded(
            site: "Readers.waitUntilNoneSlowly word.bitwiseOr",
            suffices: [.acquiringAndReleasing, .acquiring, .releasing, .relaxed],
            reason: "The look that comes first decides who is seen. Of the three accesses one must acquire."),
        StrongerThanNeeded(
            site: "Readers.waitUntilNoneSlowly word.load", suffices: [.acquiring, .relaxed],
            reason: "The look that comes first decides who is seen. Of the three accesses one must acquire."),
        StrongerThanNeeded(
            site: "Readers.waitUntilNoneSlowly word.bitwiseAnd",
            suffices: [.acquiringAndReleasing, .acquiring, .releasing, .relaxed],
            reason: "The look that comes first decides who is seen. Of the three accesses one must acquire."),
        StrongerThanNeeded(
            site: "SignalListening.clinux_hear_signal inside.fetch_sub",
            suffices: [.acquiringAndReleasing, .releasing], reason: "As a reader that leaves."),
        StrongerThanNeeded(
            site: "OnePerProcess.object entry.compareExchange", suffices: [.releasing],
            reason: "If it succeeds, it finds what the load before has acquired."),
        StrongerThanNeeded(
            site: "Source0.takeSignal signalTime.exchange", suffices: [.relaxed],
            reason: "The loop takes the item's lock next, which the signalling thread held."),
        StrongerThanNeeded(
            site: "RunStack.restoreStopFlag stopFlag.store", suffices: [.relaxed],
            reason: "Only the loop's own thread reads it."),
        StrongerThanNeeded(
            site: "Waker.beginWait word.weakCompareExchange", suffices: [.releasing],
            reason: "It succeeds only without a note, so there is no work behind it."),
        StrongerThanNeeded(
            site: "Waker.endWait word.load", suffices: [.relaxed],
            reason: "A word without notes has no work behind it, and one with notes is changed, which acquires."),
        StrongerThanNeeded(
            site: "LoopRecorder.wasInHandler mark.load", suffices: [.relaxed],
            reason: "The recorder's lock orders the list of what has ended."),
    ]
}
