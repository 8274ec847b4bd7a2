#if DEBUG
    internal import CLinux

    // The calls that do not fail, but at which threads meet. Each function here hides the C function of its name, as
    // those of FaultingCalls.swift do.

    @discardableResult
    func clinux_futex_wake(_ word: UnsafeRawPointer?, _ count: Int32) -> Int {
        Schedule.wake(at: word, atMost: count)
        // Threads that take no part may wait there, too.
        return CLinux.clinux_futex_wake(word, count)
    }

    @discardableResult
    func pthread_join(_ thread: pthread_t, _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> Int32 {
        Schedule.waitForEnd(of: thread) ? 0 : CLinux.pthread_join(thread, result)
    }

    @discardableResult
    func pthread_detach(_ thread: pthread_t) -> Int32 {
        Schedule.takesPart(thread) ? 0 : CLinux.pthread_detach(thread)
    }

    func clinux_nanoseconds(_ clock: clockid_t) -> Int64 { Schedule.nanoseconds ?? CLinux.clinux_nanoseconds(clock) }
#endif
