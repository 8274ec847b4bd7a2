import Synchronization

// Items that a run until nothing is left does not wait for.

extension Loop.Item {
    /// Whether ``Loop/runUntilFinished(in:)`` goes on while the item is in the run's mode; no other run asks. Initially
    /// true. False for an item of the background, such as a signal source for Ctrl-C: such a run ends when no other
    /// item is left.
    ///
    /// ```swift
    /// let interrupts = try Loop.SignalSource(SIGINT) { _, _ in Loop.main.stop() }
    /// interrupts.keepsRunsGoing = false
    /// Loop.main.add(interrupts)
    /// ```
    ///
    /// - *Any other run* counts every source and timer, as CFRunLoop's does.
    /// - *An observer* keeps no run going, whatever its value.
    /// - *A run that sleeps* wakes, and ends, when another thread sets the value of the last item that counts to false.
    /// - *Printed,* such an item is `in the background`.
    ///
    /// From any thread. libuv: `uv_ref`, `uv_unref`.
    public final var keepsRunsGoing: Bool {
        get { itemLock.withLock { memberships.rare?.keepsRunsGoing ?? true } }
        set {
            if !newValue { Rare.hasBackground.store(true, ordering: .relaxed) }
            var hasLeftForeground = false
            withLocks {
                changeRareProperties { hasLeftForeground = exchange(&$0.keepsRunsGoing, with: newValue) && !newValue }
            }
            if hasLeftForeground { currentModes.wakeIfEmpty() }
        }
    }
}

extension Loop.Item.Rare {
    /// Whether any item of the process has ever been of the background. Relaxed: who changes that wakes the loops of
    /// the item.
    static let hasBackground = Atomic<Bool>(false)
}
