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

    @inline(__always)
    static func value(of key: CThreadKey) -> UnsafeMutableRawPointer? { pthread_getspecific(key) }

    static func set(_ value: UnsafeMutableRawPointer?, for key: CThreadKey) { pthread_setspecific(key, value) }

    /// A mark of the calling thread, initially false, that outlasts its thread-specific values. Never inlined: every
    /// file that inlined it would have a mark of its own.
    static var isThreadMarked: Bool {
        @inline(never) get { clinux_thread_mark().pointee != 0 }
        @inline(never) set { clinux_thread_mark().pointee = newValue ? 1 : 0 }
    }

    #if DEBUG
        /// A word of the calling thread, initially zero. Never inlined, for the same reason.
        static var heldLockRanks: UnsafeMutablePointer<UInt> { @inline(never) get { clinux_held_lock_ranks() } }
    #endif
}
