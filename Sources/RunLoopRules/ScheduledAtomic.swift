#if DEBUG && !PLAIN_ATOMICS
    import RunLoopKit

    @usableFromInline typealias Atomic = ScheduledAtomic
#endif
