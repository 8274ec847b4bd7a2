#if DEBUG
    import Synchronization

    /// The sizes of atomics that the library has. Synchronization has its methods for each size, not for all, so this
    /// does as well.
    @usableFromInline
    package protocol ScheduledStorage: BitwiseCopyable {
        static func load<Value: AtomicRepresentable>(
            _ atomic: borrowing Synchronization.Atomic<Value>, _ ordering: AtomicLoadOrdering
        ) -> Value where Value.AtomicRepresentation == Self

        static func store<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicStoreOrdering
        ) where Value.AtomicRepresentation == Self

        static func exchange<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicUpdateOrdering
        ) -> Value where Value.AtomicRepresentation == Self

        static func compareExchange<Value: AtomicRepresentable>(
            _ expected: consuming Value, _ desired: consuming Value,
            in atomic: borrowing Synchronization.Atomic<Value>, _ success: AtomicUpdateOrdering,
            _ failure: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) where Value.AtomicRepresentation == Self
    }

    extension _Atomic8BitStorage: ScheduledStorage {
        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func load<Value: AtomicRepresentable>(
            _ atomic: borrowing Synchronization.Atomic<Value>, _ ordering: AtomicLoadOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.load(ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func store<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicStoreOrdering
        ) where Value.AtomicRepresentation == Self {
            atomic.store(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func exchange<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicUpdateOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.exchange(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func compareExchange<Value: AtomicRepresentable>(
            _ expected: consuming Value, _ desired: consuming Value,
            in atomic: borrowing Synchronization.Atomic<Value>, _ success: AtomicUpdateOrdering,
            _ failure: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) where Value.AtomicRepresentation == Self {
            atomic.compareExchange(
                expected: expected, desired: desired, successOrdering: success, failureOrdering: failure)
        }
    }

    extension _Atomic32BitStorage: ScheduledStorage {
        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func load<Value: AtomicRepresentable>(
            _ atomic: borrowing Synchronization.Atomic<Value>, _ ordering: AtomicLoadOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.load(ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func store<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicStoreOrdering
        ) where Value.AtomicRepresentation == Self {
            atomic.store(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func exchange<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicUpdateOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.exchange(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func compareExchange<Value: AtomicRepresentable>(
            _ expected: consuming Value, _ desired: consuming Value,
            in atomic: borrowing Synchronization.Atomic<Value>, _ success: AtomicUpdateOrdering,
            _ failure: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) where Value.AtomicRepresentation == Self {
            atomic.compareExchange(
                expected: expected, desired: desired, successOrdering: success, failureOrdering: failure)
        }
    }

    extension _Atomic64BitStorage: ScheduledStorage {
        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func load<Value: AtomicRepresentable>(
            _ atomic: borrowing Synchronization.Atomic<Value>, _ ordering: AtomicLoadOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.load(ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func store<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicStoreOrdering
        ) where Value.AtomicRepresentation == Self {
            atomic.store(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func exchange<Value: AtomicRepresentable>(
            _ value: consuming Value, in atomic: borrowing Synchronization.Atomic<Value>,
            _ ordering: AtomicUpdateOrdering
        ) -> Value where Value.AtomicRepresentation == Self {
            atomic.exchange(value, ordering: ordering)
        }

        @usableFromInline @_semantics("atomics.requires_constant_orderings")
        package static func compareExchange<Value: AtomicRepresentable>(
            _ expected: consuming Value, _ desired: consuming Value,
            in atomic: borrowing Synchronization.Atomic<Value>, _ success: AtomicUpdateOrdering,
            _ failure: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) where Value.AtomicRepresentation == Self {
            atomic.compareExchange(
                expected: expected, desired: desired, successOrdering: success, failureOrdering: failure)
        }
    }
#endif
