/// A version-1 source: an item that becomes ready through a descriptor or, if it is a message port, reports its
/// readiness itself. The loop knows nothing else of its kinds.
protocol Source1: Loop.Item {
    /// What every mode that has the source watches: always the same descriptors, none for a message port.
    var watches: [Watch] { get }

    /// Whether threads of the program make the source ready, and set a note for its loop. Of any other source the loop
    /// learns from the kernel alone.
    var isPort: Bool { get }

    /// The events to handle. Nil if the readiness is spurious, which then costs no pass and no callout. Called on the
    /// loop's thread.
    func workBehind(_ report: Report) -> PollEvents?

    /// Whether the source knows since when it is ready: `readyTurn`.
    var knowsTurn: Bool { get }

    /// The sequence number of the source's readiness, or 0 if it is not ready. Nil if the source does not know.
    var readyTurn: UInt64? { get }

    /// The number of the `Handover` that causes the next callout; 0 if it is not known. Asked before each callout, if
    /// monitors are attached.
    func takeCause() -> UInt64

    /// Calls the handler once, in a pass of `mode`. If the report is not fresh, the source first finds out whether it
    /// still holds.
    ///
    /// - Returns: The number of calls that were due, this one included: more than one for a message port, which a pass
    ///   calls for each message. 0 if there was none: another loop has handled the events first.
    func perform(_ report: Report, in mode: ModeState) -> Int
}

extension Source1 {
    var isPort: Bool { false }
    var knowsTurn: Bool { false }
    var readyTurn: UInt64? { nil }
    func takeCause() -> UInt64 { readyTurn ?? 0 }

    /// Whether there is something to handle.
    func holds(_ report: Report) -> Bool { report.age == .fresh || workBehind(report) != nil }

    /// Lets the modes watch the source, which has got its first handler. Called without any lock.
    func beginBeingWatched() {
        Lock.assertNoneHeld()
        for mode in currentModes {
            mode.waker.lock.withLock {
                guard isIn(mode) else { return }
                mode.source1s.beginWatching(self)
                mode.watchesChanged(of: self, areWatched: false)
            }
            // A port in virtual time, or in a hosted loop.
            mode.nudge()
        }
    }

    /// Updates what the modes watch, after `watches` has changed. Called without any lock.
    ///
    /// Every mode reads `watches` with its loop's lock held: of two concurrent changes, the thread that reaches a mode
    /// last reads the later one.
    ///
    /// - Parameter areWatched: Whether the modes watch the source now, as far as the caller knows. It decides which
    ///   system call comes first; the other one follows if that was wrong.
    func watchesChanged(areWatched: Bool = false) {
        Lock.assertNoneHeld()
        // Without the loop, which is a weak reference: a mode whose loop has ended watches nothing.
        for mode in currentModes {
            mode.waker.lock.withLock {
                // A source that has moved to another loop meanwhile has a slot that this lock does not guard.
                if isIn(mode) { mode.watchesChanged(of: self, areWatched: areWatched) }
            }
        }
    }
}
