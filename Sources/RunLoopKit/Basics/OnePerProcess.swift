import Synchronization

/// Holds the process's only object of a kind. A forked child gets one of its own.
///
/// The child does not touch its parent's object, and never releases it. At the fork, a thread that the child lacks may
/// have held the object's lock, or have been changing the object.
struct OnePerProcess<Object: AnyObject & Sendable>: ~Copyable, @unchecked Sendable {
    private final class Entry: Sendable {
        let process = ProcessMark.current
        let object: Object
        init(_ object: Object) { self.object = object }
    }

    /// A retained `Entry`; nil before the first use. Release and acquire: a thread that finds an entry sees its object
    /// complete.
    private let entry = Atomic<UnsafeRawPointer?>(nil)
    private let make: @Sendable (_ parents: Object?) -> Object

    /// - Parameter make: Makes the object, perhaps twice: of two threads that do so at the same moment, one drops its
    ///   object. In a forked child it gets the parent's object, and must not take its lock.
    init(_ make: @escaping @Sendable (_ parents: Object?) -> Object) { self.make = make }

    /// The calling process's object, made at its first use.
    var object: Object {
        let found = entry.load(ordering: .acquiring)
        if let object = OnePerProcess.object(at: found, ofThisProcess: true) { return object }
        let made = Unmanaged.passRetained(Entry(make(OnePerProcess.object(at: found, ofThisProcess: false))))
        let result = entry.compareExchange(
            expected: found, desired: UnsafeRawPointer(made.toOpaque()), successOrdering: .acquiringAndReleasing,
            failureOrdering: .acquiring)
        guard !result.exchanged else { return made.takeUnretainedValue().object }
        made.release()
        return OnePerProcess.object(at: result.original, ofThisProcess: true)!
    }

    /// The calling process's object if it is made already. Async-signal-safe.
    var objectIfMade: Object? { OnePerProcess.object(at: entry.load(ordering: .acquiring), ofThisProcess: true) }

    private static func object(at pointer: UnsafeRawPointer?, ofThisProcess isOfThisProcess: Bool) -> Object? {
        guard let entry = pointer.map({ Unmanaged<Entry>.fromOpaque($0).takeUnretainedValue() }) else { return nil }
        return entry.process.isCurrent == isOfThisProcess ? entry.object : nil
    }
}
