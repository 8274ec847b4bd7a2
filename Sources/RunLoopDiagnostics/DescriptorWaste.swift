import RunLoopKit

/// Finds a descriptor source whose handler is called pass after pass and takes nothing: the descriptor stays ready, so
/// the loop never sleeps.
///
/// A call is *wasted* if the descriptor is ready after it as before it, with as many bytes to be read and to be sent.
/// To know this takes a few system calls, so the check begins when the loop has called the same source several times in
/// a row and has not slept in between. Accessed only by the loop's thread.
struct DescriptorWaste {
    /// A shorter wait is no sleep: the kernel returned at once, on a slow machine too. In nanoseconds.
    static let pause: Int64 = 200_000

    /// How many calls in a row are not checked.
    private static let unchecked = 8

    /// The source that was called last; compared only.
    private var source: ObjectIdentifier?
    private var calls = 0
    private var wasted: UInt32 = 0
    private var before: (unread: Int32, unsent: Int32)?

    mutating func willCall(_ callout: Callout) {
        before = nil
        guard let source = callout.item as? Loop.FileDescriptorSource else { return }
        let id = ObjectIdentifier(source)
        if self.source != id { (self.source, calls, wasted) = (id, 0, 0) }
        calls += 1
        if calls > DescriptorWaste.unchecked { before = source.waitingBytes }
    }

    /// Returns how many calls in a row were wasted.
    mutating func didCall(_ callout: Callout) -> UInt32 {
        guard let before, let source = callout.item as? Loop.FileDescriptorSource,
            self.source == ObjectIdentifier(source)
        else {
            return 0
        }
        self.before = nil
        let isReady = source.isDescriptorReady
        let isWasted = source.isValid && isReady && source.waitingBytes == before
        wasted = isWasted ? wasted + 1 : 0
        return wasted
    }

    /// The loop has slept. This delays the checks only: a thread that was preempted looks as if it had slept.
    mutating func hasSlept() { calls = 0 }
}
