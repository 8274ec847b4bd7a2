#if DEBUG
    import RunLoopKit

    @usableFromInline typealias Atomic = ScheduledAtomic
#endif
