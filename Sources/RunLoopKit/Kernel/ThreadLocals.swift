internal import CLinux

typealias CThreadKey = pthread_key_t

extension System {
    /// Makes a key for thread-specific values. `destructor` runs on a thread that ends with a value set.
    static func makeThreadKey(destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> CThreadKey {
        var key = CThreadKey()
        let code = clinux_make_thread_key(&key, destructor)
        guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "pthread_key_create", code: code))") }
        return key
    }

    /// Deletes a key for which no thread has a value.
    static func delete(_ key: CThreadKey) { pthread_key_delete(key) }

    /// Sets a value of the calling thread, which `destructor` gets if the thread ends.
    static func set(_ value: UnsafeMutableRawPointer?, for key: CThreadKey) { pthread_setspecific(key, value) }

    /// Calls `destructor` with a value when the calling thread ends, before the destructors of any keys; or when it
    /// calls `exit`. Does nothing where the C library lacks this, as Musl does.
    static func atThreadExit(
        _ value: UnsafeMutableRawPointer, _ destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) { _ = clinux_at_thread_exit(destructor, value) }

    /// A pointer of the calling thread, initially nil. Reading it takes a few instructions, where a value of a key and
    /// the key itself, which is made lazily, take 30. Never inlined, as `isThreadMarked`.
    static var threadState: UnsafeMutableRawPointer? {
        @inline(never) get { clinux_thread_state().pointee }
        @inline(never) set { clinux_thread_state().pointee = newValue }
    }

    /// A mark of the calling thread, initially false, that outlasts its thread-specific values. Never inlined: every
    /// file that inlined it would have a mark of its own.
    static var isThreadMarked: Bool {
        @inline(never) get { clinux_thread_mark().pointee != 0 }
        @inline(never) set { clinux_thread_mark().pointee = newValue ? 1 : 0 }
    }

    /// A second mark of the calling thread. Never inlined, as above.
    static var forksOnInitialThread: Bool {
        @inline(never) get { clinux_forks_on_initial_thread().pointee != 0 }
        @inline(never) set { clinux_forks_on_initial_thread().pointee = newValue ? 1 : 0 }
    }

    #if DEBUG
        /// A word of the calling thread, initially zero. Never inlined, for the same reason.
        static var heldLockRanks: UnsafeMutablePointer<UInt> { @inline(never) get { clinux_held_lock_ranks() } }

        /// The plan of faults of the calling thread, initially nil. Never inlined, for the same reason.
        static var faults: UnsafeMutableRawPointer? {
            @inline(never) get { clinux_thread_faults().pointee }
            @inline(never) set { clinux_thread_faults().pointee = newValue }
        }

        /// The part of the calling thread in a schedule, initially nil. Never inlined, for the same reason.
        static var scheduleSeat: UnsafeMutableRawPointer? {
            @inline(never) get { clinux_thread_schedule_seat().pointee }
            @inline(never) set { clinux_thread_schedule_seat().pointee = newValue }
        }

        /// Whether the calling thread has faults or a seat. One question, since each atomic access asks it.
        static var isTested: Bool {
            @inline(never) get { clinux_thread_faults().pointee != nil || clinux_thread_schedule_seat().pointee != nil }
        }
    #endif
}
