internal import CLinux

typealias CThread = pthread_t

extension System {
    /// Whether the caller is the process's initial thread.
    package static var isInitialThread: Bool { clinux_thread_id() == getpid() }

    /// Registers a handler that runs in every child forked from now on, on its only thread.
    static func afterForkInChild(_ handler: @escaping @convention(c) () -> Void) {
        onFork(before: nil, inChild: handler)
    }

    /// The same, and a handler that runs before, on the thread that forks.
    static func onFork(
        before: (@convention(c) () -> Void)?, inChild handler: @escaping @convention(c) () -> Void
    ) {
        let code = pthread_atfork(before, nil, handler)
        guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "pthread_atfork", code: code))") }
    }

    /// Starts a thread that runs `body`, to be joined or detached. `stackSize` is in bytes; nil means the system's
    /// default.
    static func startThread(stackSize: Int?, _ body: @escaping @Sendable () -> Void) throws(LoopError) -> CThread {
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        if let stackSize {
            let code = pthread_attr_setstacksize(attributes, stackSize)
            guard code == 0 else {
                throw LoopError(
                    call: "pthread_attr_setstacksize(\(stackSize))", code: code,
                    advice: "give at least \(sysconf(Int32(_SC_THREAD_STACK_MIN))) bytes")
            }
        }
        #if DEBUG
            let body = Schedule.inherited(by: Faults.inherited(by: body))
        #endif
        let box = Unmanaged.passRetained(ThreadBody(body))
        let started = clinux_start_thread(
            attributes,
            { box in
                // Releases the body before the thread's destructors run.
                Unmanaged<ThreadBody>.fromOpaque(box!).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard started.error != 0 else { return started.thread }
        box.release()
        guard let stackSize else { throw LoopError(call: "pthread_create", code: started.error) }
        throw LoopError(
            call: "pthread_create with a stack of \(stackSize) bytes", code: started.error,
            advice: "a smaller stack may be available")
    }

    /// Waits until a thread has ended. Called once for each thread.
    static func join(_ thread: CThread) {
        // A thread cancelled here would leave other joining threads waiting for it.
        let state = clinux_begin_uncancellable()
        pthread_join(thread, nil)
        clinux_end_uncancellable(state)
    }

    /// Releases a thread's memory when the thread ends. Called instead of `join`.
    static func detach(_ thread: CThread) { pthread_detach(thread) }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
