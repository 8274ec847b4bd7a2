/// A version-1 source: an item that becomes ready through a descriptor, or, as a message port, says itself that it is.
/// This is all that the loop knows of its kinds.
protocol Source1: Loop.Item {
    /// What every mode that has the source watches: always the same descriptors. None for a message port.
    var watches: [Watch] { get }

    /// What there is to handle. Nil if the readiness is spurious, which then costs no pass and no callout. The loop's
    /// lock is held.
    ///
    /// - Parameters:
    ///   - events: What the kernel reported.
    ///   - isFresh: Whether the report is recent: no handler has been called since.
    func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents?

    /// The turn in which the source became ready, or 0 if it is not ready. Nil if the source does not know.
    var readyTurn: UInt64? { get }

    /// One line for the description of a loop.
    var summary: String { get }

    /// Handles what there is, in a pass of `mode`. Returns false if another loop handled it first.
    func perform(_ events: PollEvents, in mode: ModeState) -> Bool
}

extension Source1 {
    var readyTurn: UInt64? { nil }

    /// Updates what the modes watch, after `watches` has changed. Called without any lock.
    ///
    /// Every mode reads `watches` with its loop's lock held: of two concurrent changes, the thread that comes to a mode
    /// last finds the later one.
    func watchesChanged() {
        Lock.assertNoneHeld()
        for mode in currentModes { mode.loop?.lock.withLock { mode.watchesChanged(of: self) } }
    }
}
