#if DEBUG
    import Synchronization

    /// An atomic value, with a point of the schedule in front of each access. In debug builds only: a release build has
    /// Synchronization's.
    ///
    /// It has that type's name in the targets of the library, and its methods, so the code is the same in both. A weak
    /// exchange is a strong one: a failure without a reason would make two executions of one schedule.
    @usableFromInline
    package struct ScheduledAtomic<Value: AtomicRepresentable>: ~Copyable, @unchecked Sendable
    where Value.AtomicRepresentation: ScheduledStorage {
        private typealias Storage = Value.AtomicRepresentation

        @usableFromInline let atomic: Synchronization.Atomic<Value>

        @usableFromInline
        package init(_ value: consuming Value) { atomic = Synchronization.Atomic(value) }

        // The same address for all accesses, and for the kernel.
        private borrowing func willLoad() {
            if System.isTested { withUnsafePointer(to: self) { Schedule.reach(.load($0)) } }
        }
        private borrowing func willChange() {
            if System.isTested { withUnsafePointer(to: self) { Schedule.reach(.change($0)) } }
        }

        @usableFromInline
        package borrowing func load(ordering: AtomicLoadOrdering) -> Value {
            willLoad()
            return Storage.load(atomic, ordering)
        }

        @usableFromInline
        package borrowing func store(_ value: consuming Value, ordering: AtomicStoreOrdering) {
            willChange()
            Storage.store(value, in: atomic, ordering)
        }

        @usableFromInline
        package borrowing func exchange(_ value: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
            willChange()
            return Storage.exchange(value, in: atomic, ordering)
        }

        @usableFromInline
        package borrowing func compareExchange(
            expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
            failureOrdering: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) {
            willChange()
            return Storage.compareExchange(expected, desired, in: atomic, successOrdering, failureOrdering)
        }

        @usableFromInline
        package borrowing func compareExchange(
            expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
        ) -> (exchanged: Bool, original: Value) {
            compareExchange(
                expected: expected, desired: desired, successOrdering: ordering, failureOrdering: ordering.ofLoad)
        }

        @usableFromInline
        package borrowing func weakCompareExchange(
            expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
        ) -> (exchanged: Bool, original: Value) {
            compareExchange(expected: expected, desired: desired, ordering: ordering)
        }

        @usableFromInline
        package borrowing func weakCompareExchange(
            expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
            failureOrdering: AtomicLoadOrdering
        ) -> (exchanged: Bool, original: Value) {
            compareExchange(
                expected: expected, desired: desired, successOrdering: successOrdering,
                failureOrdering: failureOrdering)
        }
    }

    extension ScheduledAtomic where Value: FixedWidthInteger {
        /// Synchronization has an instruction for each of the following, but none for every integer.
        private borrowing func change(
            _ ordering: AtomicUpdateOrdering, _ new: (Value) -> Value
        ) -> (oldValue: Value, newValue: Value) {
            willChange()
            var old = Storage.load(atomic, .relaxed)
            while true {
                let change = Storage.compareExchange(old, new(old), in: atomic, ordering, .relaxed)
                if change.exchanged { return (old, new(old)) }
                old = change.original
            }
        }

        @usableFromInline @discardableResult
        package borrowing func wrappingAdd(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 &+ operand }
        }

        @usableFromInline @discardableResult
        package borrowing func wrappingSubtract(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 &- operand }
        }

        @usableFromInline @discardableResult
        package borrowing func add(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 + operand }
        }

        @usableFromInline @discardableResult
        package borrowing func subtract(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 - operand }
        }

        @usableFromInline @discardableResult
        package borrowing func bitwiseOr(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 | operand }
        }

        @usableFromInline @discardableResult
        package borrowing func bitwiseAnd(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { $0 & operand }
        }

        @usableFromInline @discardableResult
        package borrowing func max(
            _ operand: Value, ordering: AtomicUpdateOrdering
        ) -> (oldValue: Value, newValue: Value) {
            change(ordering) { Swift.max($0, operand) }
        }
    }

    extension AtomicUpdateOrdering {
        /// That of an exchange that fails.
        fileprivate var ofLoad: AtomicLoadOrdering {
            switch self {
            case .relaxed, .releasing: .relaxed
            case .sequentiallyConsistent: .sequentiallyConsistent
            default: .acquiring
            }
        }
    }

    // Sanitizers slow the points down, and are to see the orders of the sources: their builds have plain atomics.
    #if !PLAIN_ATOMICS
        @usableFromInline typealias Atomic = ScheduledAtomic
    #endif
#endif
