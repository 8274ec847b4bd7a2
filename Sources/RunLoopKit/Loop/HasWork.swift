// Whether there is work, as two questions. Is work there now? Can anything bring work? Both are asked with the lock
// held.

extension Loop {
    /// Whether a posted block or a signalled source waits for a pass in this mode.
    func hasPostedWork(for mode: ModeState) -> Bool {
        lock.assertHeld()
        return hasBlock(for: mode) || mode.hasSignal
    }

    /// Whether a run in this mode has anything to wait for: an item that is not an observer, a block, or the main
    /// queue, which may get a job at any time.
    @inline(__always)
    func hasAnythingToWaitFor(in mode: ModeState) -> Bool {
        lock.assertHeld()
        // Nearly every mode that runs has sources.
        return mode.has(.sources) || hasAnythingToWaitForSlowly(in: mode)
    }

    @inline(never)
    private func hasAnythingToWaitForSlowly(in mode: ModeState) -> Bool {
        hasBlock(for: mode) || !mode.isEmpty || servesMainQueue(in: mode)
    }

    /// Whether a run in this mode has neither work nor anything to wait for, but what is of the background: jobs that
    /// the main queue may get later, and items that keep no run going. Called without the lock.
    func isNothingLeft(in mode: ModeState) -> Bool {
        !lock.withLock { hasBlock(for: mode) || mode.hasForeground } && !hasJobOfMainQueue(in: mode)
    }
}
