#if DEBUG && !PLAIN_ATOMICS
    import RunLoopKit

    // In debug builds the name means the type with points of a schedule, as in RunLoopKit.
    @usableFromInline typealias Atomic = ScheduledAtomic
#endif
