import RunLoopKit

/// Finds a descriptor source whose handler is called pass after pass and takes nothing: the descriptor stays ready, so
/// the loop never sleeps.
///
/// A call is *wasted* if the descriptor is ready after it as before it, with as many bytes to be read and to be sent,
/// and the loop calls the source again at once. To know this takes a few system calls.
///
/// Accessed only by the loop's thread.
struct DescriptorWaste {
    /// Of the calls of one source in a row, one in so many is checked, and all that follow a wasted one.
    private static let distance = 16

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
        if wasted > 0 || calls % DescriptorWaste.distance == 0 { before = source.waitingBytes }
    }

    /// Returns how many calls in a row were wasted.
    mutating func didCall(_ callout: Callout) -> UInt32 {
        guard let before, let source = callout.item as? Loop.FileDescriptorSource,
            self.source == ObjectIdentifier(source)
        else {
            return 0
        }
        self.before = nil
        let isWasted =
            source.isValid && source.isReadyAgain && source.waitingBytes == before && !source.mayHideReads
        wasted = isWasted ? wasted + 1 : 0
        return wasted
    }
}
