// Every system call of the library, as thin wrappers that turn errno into a `LoopError`. This is the only
// file that imports the C library: what else needs it goes through here.

internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Android)
    internal import Android
#else
    #error("RunLoopKit needs Linux (Glibc, Musl or Android): it is built on epoll, eventfd and timerfd.")
#endif

/// A file descriptor's number.
typealias Descriptor = Int32

/// The C types and constants that the rest of the kernel folder stores.
typealias CMutex = pthread_mutex_t
typealias CCondition = pthread_cond_t
typealias CThread = pthread_t
typealias CThreadKey = pthread_key_t
typealias CPollEvent = epoll_event

/// Thin wrappers around system calls and the C library.
///
/// One call is a cancellation point (`pthread_cancel`): a wait without limit for descriptors, in which a thread holds no
/// lock and owes no other thread anything. In all others a cancelled thread goes on.
enum System {
    // MARK: Descriptors

    /// A new eventfd with the count zero; non-blocking, so that reading it never waits.
    static func makeEventFD() throws(LoopError) -> Descriptor {
        try check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    }

    /// The clocks that a timerfd can count on: CLOCK_MONOTONIC and CLOCK_BOOTTIME.
    enum TimerClock { case suspending, continuous }

    /// A new timerfd, disarmed.
    static func makeTimerFD(_ clock: TimerClock) throws(LoopError) -> Descriptor {
        let number = clock == .suspending ? CLOCK_MONOTONIC : CLOCK_BOOTTIME
        return try check("timerfd_create", timerfd_create(number, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)))
    }

    /// A new epoll set.
    static func makeEpoll() throws(LoopError) -> Descriptor {
        try check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    }

    static func close(_ descriptor: Descriptor) {
        // EINTR too means closed on Linux: never repeat a close.
        _ = clinux_close(descriptor)
    }

    /// Adds 1 to an eventfd. Async-signal-safe: no lock, no allocation, errno kept.
    static func signal(eventFD: Descriptor) {
        let saved = errno
        var one: UInt64 = 1
        while clinux_write(eventFD, &one, 8) < 0, errno == EINTR {}
        errno = saved
    }

    /// What was added to an eventfd since it was last read; 0 when nothing was.
    static func drain(eventFD: Descriptor) -> UInt64 {
        var count: UInt64 = 0
        while true {
            if clinux_read(eventFD, &count, 8) == 8 { return count }
            if errno != EINTR { return 0 }
        }
    }

    /// Arms a timerfd for an absolute time, in nanoseconds of its clock. Times of zero or less are armed
    /// as 1 ns, since zero disarms.
    static func arm(timerFD: Descriptor, at nanoseconds: Int64) {
        let time = max(nanoseconds, 1)
        var setting = itimerspec()
        setting.it_value.tv_sec = Int(time / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time % 1_000_000_000)
        guard timerfd_settime(timerFD, Int32(TFD_TIMER_ABSTIME), &setting, nil) == 0 else {
            fatalError("RunLoopKit: \(LoopError(call: "timerfd_settime"))")
        }
    }

    // MARK: epoll

    /// Watches a descriptor in an epoll set, or changes what one that is there is watched for.
    static func watch(
        _ descriptor: Descriptor, for events: PollEvents, in epoll: Descriptor, token: UInt64
    ) throws(LoopError) {
        var event = epoll_event()
        event.events = events.rawValue
        event.data.u64 = token
        if epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 { return }
        if errno == EEXIST, epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 { return }
        // Only these two errors tell of circles; their texts do not.
        let isCircle = errno == ELOOP || errno == EINVAL
        throw LoopError(
            call: "epoll_ctl(\(descriptor))",
            advice: isCircle
                ? "an epoll set, such as the descriptor of a hosted loop, cannot watch itself or one that watches it"
                : nil
        )
    }

    /// Takes a descriptor out of an epoll set. One that is not in the set is no error; one that has been closed is, since
    /// it would stay in the set for as long as a duplicate of it is open.
    static func remove(_ descriptor: Descriptor, from epoll: Descriptor) {
        var event = epoll_event()  // Kernels before 2.6.9 wanted one.
        let result = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
        assert(result == 0 || errno != EBADF, "descriptor \(descriptor) was closed before it left an epoll set")
    }

    /// Waits without limit, or looks once, for ready descriptors. Zero when there are none, or when a Unix signal
    /// interrupted the wait: the caller looks again at what it waits for.
    static func wait(
        epoll: Descriptor, into events: UnsafeMutableBufferPointer<CPollEvent>, blocking: Bool
    ) -> Int {
        let capacity = Int32(events.count)
        let count =
            blocking
            ? epoll_wait(epoll, events.baseAddress, capacity, -1)
            : clinux_epoll_poll(epoll, events.baseAddress, capacity)
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { fatalError("RunLoopKit: \(LoopError(call: "epoll_wait"))") }
        return 0
    }

    /// Whether a descriptor is readable now. Looks without consuming anything, so it may be asked of an epoll set.
    static func isReadable(_ descriptor: Descriptor) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return clinux_poll(&request, 1) > 0
    }

    /// Waits until a descriptor is readable, without consuming anything; returns early when a Unix signal interrupts.
    static func waitUntilReadable(_ descriptor: Descriptor) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
    }

    // MARK: Time

    /// CLOCK_MONOTONIC in nanoseconds: it does not count time in suspend, and nobody sets it.
    static func monotonicNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// CLOCK_BOOTTIME in nanoseconds: the same, and the time in suspend.
    static func bootTimeNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    // MARK: Mutexes and condition variables

    static func initialize(_ mutex: UnsafeMutablePointer<CMutex>) {
        mutex.initialize(to: CMutex())
        pthread_mutex_init(mutex, nil)
    }

    static func destroy(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_destroy(mutex) }

    @inline(__always)
    static func lock(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_lock(mutex) }

    @inline(__always)
    static func unlock(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_unlock(mutex) }

    static func initialize(_ condition: UnsafeMutablePointer<CCondition>) {
        condition.initialize(to: CCondition())
        pthread_cond_init(condition, nil)
    }

    static func destroy(_ condition: UnsafeMutablePointer<CCondition>) { pthread_cond_destroy(condition) }

    static func wait(_ condition: UnsafeMutablePointer<CCondition>, _ mutex: UnsafeMutablePointer<CMutex>) {
        // A thread cancelled here would end with the mutex locked.
        let state = clinux_begin_uncancellable()
        pthread_cond_wait(condition, mutex)
        clinux_end_uncancellable(state)
    }

    static func broadcast(_ condition: UnsafeMutablePointer<CCondition>) { pthread_cond_broadcast(condition) }

    // MARK: Threads

    /// Whether the caller is the process's initial thread.
    static var isInitialThread: Bool { clinux_thread_id() == getpid() }

    /// Has a handler called in every child that is forked from now on, on its one thread.
    static func afterForkInChild(_ handler: @escaping @convention(c) () -> Void) {
        let code = pthread_atfork(nil, nil, handler)
        guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "pthread_atfork", code: code))") }
    }

    /// Gives up the processor for a moment.
    static func yieldThread() { sched_yield() }

    /// Starts a thread that runs `body`, to be joined or detached. `stackSize` is in bytes; nil for the system's
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
        do throws(LoopError) {
            return try createThread(attributes, Unmanaged.passRetained(ThreadBody(body)))
        } catch {
            guard let stackSize else { throw error }
            throw LoopError(
                call: "pthread_create with a stack of \(stackSize) bytes", code: error.errno,
                advice: "a smaller stack may be had")
        }
    }

    private static func createThread(
        _ attributes: UnsafeMutablePointer<pthread_attr_t>, _ body: Unmanaged<ThreadBody>
    ) throws(LoopError) -> CThread {
        let started = clinux_start_thread(attributes, { System.runThreadBody($0) }, body.toOpaque())
        if started.error != 0 {
            body.release()
            throw LoopError(call: "pthread_create", code: started.error)
        }
        return started.thread
    }

    /// Names the calling thread; the kernel keeps 15 bytes.
    static func nameThread(_ name: String) {
        var bytes = Array(name.utf8.prefix(15)).map(CChar.init(bitPattern:))
        // Not in the middle of a character.
        while String(validating: bytes.map(UInt8.init(bitPattern:)), as: UTF8.self) == nil { bytes.removeLast() }
        _ = pthread_setname_np(pthread_self(), bytes + [0])
    }

    /// Sets the calling thread's nice value.
    static func setNice(_ value: Int32) -> Bool { clinux_set_nice(value) == 0 }

    /// Sets the calling thread's scheduling policy; the priority is 0 for those that have none.
    static func setScheduling(_ policy: SchedulingPolicy, priority: Int32) -> Bool {
        clinux_set_scheduling(policy.rawValue, priority) == 0
    }

    /// The kernel's numbers, the same on every architecture.
    enum SchedulingPolicy: Int32 { case other = 0, fifo = 1, roundRobin = 2, batch = 3, idle = 5 }

    /// Ties the calling thread to the CPUs whose bits are set. The kernel passes over those that it does not have.
    static func setAffinity(_ mask: [UInt]) -> Bool {
        clinux_set_affinity(mask, UInt(mask.count * MemoryLayout<UInt>.size)) == 0
    }

    /// The CPUs that the calling thread may run on, as bits in `words` words.
    static func affinity(words: Int) -> [UInt] {
        var mask = [UInt](repeating: 0, count: words)
        guard clinux_get_affinity(&mask, UInt(words * MemoryLayout<UInt>.size)) >= 0 else {
            fatalError("RunLoopKit: \(LoopError(call: "sched_getaffinity"))")
        }
        return mask
    }

    /// Sets by how many nanoseconds the kernel may delay the calling thread's waits. Zero is the process's default.
    static func setTimerSlack(_ nanoseconds: Int64) -> Bool { clinux_set_timer_slack(UInt(clamping: nanoseconds)) == 0 }

    /// The error of values that are valid nowhere.
    static var invalidArgument: Int32 { EINVAL }

    /// Waits until a thread has ended. Once for each thread.
    static func join(_ thread: CThread) {
        // A thread cancelled here would leave others that join waiting for it.
        let state = clinux_begin_uncancellable()
        pthread_join(thread, nil)
        clinux_end_uncancellable(state)
    }

    /// Lets a thread's memory go by itself when it ends. Instead of joining it.
    static func detach(_ thread: CThread) { pthread_detach(thread) }

    /// A thread-specific value; `destructor` runs on a thread that ends with a value set.
    static func makeThreadKey(destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> CThreadKey {
        var key = CThreadKey()
        let code = clinux_make_thread_key(&key, destructor)
        guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "pthread_key_create", code: code))") }
        return key
    }

    @inline(__always)
    static func value(of key: CThreadKey) -> UnsafeMutableRawPointer? { pthread_getspecific(key) }

    static func set(_ value: UnsafeMutableRawPointer?, for key: CThreadKey) { pthread_setspecific(key, value) }

    /// A mark of the calling thread, false at first, that outlasts its thread-specific values. Never inlined: in another
    /// file it would be another mark.
    static var isThreadMarked: Bool {
        @inline(never) get { clinux_thread_mark().pointee != 0 }
        @inline(never) set { clinux_thread_mark().pointee = newValue ? 1 : 0 }
    }

    #if DEBUG
        /// A word of the calling thread, zero at first. Never inlined, as above.
        static var heldLockRanks: UnsafeMutablePointer<UInt> { @inline(never) get { clinux_held_lock_ranks() } }
    #endif

    // MARK: The main dispatch queue

    /// The eventfd of libdispatch's main queue, or -1 in a program without libdispatch. First called on the initial
    /// thread.
    static func mainQueueDescriptor() -> Descriptor { clinux_main_queue_descriptor() }

    /// Runs what is in the main queue. On the initial thread.
    static func drainMainQueue() { clinux_drain_main_queue() }

    /// Posts a job to the main queue, in a program that has one.
    static func postToMainQueue(_ job: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        // libdispatch writes to its eventfd: a thread cancelled there would leave the making of Loop.main undone for ever.
        let state = clinux_begin_uncancellable()
        clinux_post_to_main_queue(job)
        clinux_end_uncancellable(state)
    }

    // MARK: Errors and output

    /// errno's symbolic name and text, such as `Too many open files (EMFILE)`.
    static func describe(errno code: Int32) -> String {
        let text = String(cString: strerror(code))
        return "\(text) (\(name(ofErrno: code)))"
    }

    /// One line on stderr, written at once.
    static func complain(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { clinux_write(STDERR_FILENO, $0.baseAddress, UInt($0.count)) }
    }

    /// The errno of a call that has just failed.
    static var lastError: Int32 { errno }

    /// The result of a call that returns -1 on failure.
    @discardableResult
    static func check(_ call: @autoclosure () -> String, _ result: Int32) throws(LoopError) -> Int32 {
        guard result >= 0 else { throw LoopError(call: call()) }
        return result
    }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// What a new thread runs. The closure is gone before the thread's own end begins.
    private static func runThreadBody(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let box else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(box).takeRetainedValue().run()
        return nil
    }

    private static func name(ofErrno code: Int32) -> String {
        switch code {
        case EMFILE: "EMFILE"
        case ENFILE: "ENFILE"
        case ENOMEM: "ENOMEM"
        case ENOSPC: "ENOSPC"
        case EAGAIN: "EAGAIN"
        case EPERM: "EPERM"
        case EACCES: "EACCES"
        case EBADF: "EBADF"
        case EEXIST: "EEXIST"
        case EINVAL: "EINVAL"
        case ENOSYS: "ENOSYS"
        case ESRCH: "ESRCH"
        case ECHILD: "ECHILD"
        case EBUSY: "EBUSY"
        case ELOOP: "ELOOP"
        default: "errno \(code)"
        }
    }
}

// What the sources in Inputs/ that watch the outside world are made of.
extension System {
    // MARK: Any descriptor

    /// Another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
    }

    /// Throws if a descriptor cannot be watched. There is no call that only asks, so it is put into an epoll set that is
    /// thrown away.
    static func checkCanBeWatched(_ descriptor: Descriptor) throws(LoopError) {
        let epoll = try makeEpoll()
        defer { close(epoll) }
        var event = epoll_event()
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 else { return }
        let call = "epoll_ctl(\(descriptor))"
        guard errno == EPERM else { throw LoopError(call: call) }
        throw LoopError(
            call: call, code: EPERM,
            advice:
                "the kernel cannot watch it, because it is always ready, as regular files, directories and /dev/null "
                + "are: no source is needed, read or write it directly")
    }

    /// What of `events` a descriptor is ready for now, and whether it has hung up or failed. Consumes nothing.
    static func readiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        // With no time to wait there is nothing that a signal could interrupt.
        let count = clinux_poll(&request, 1)
        return count > 0 ? PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) : []
    }

    // MARK: Unix signals

    /// What a signalfd tells about a signal.
    typealias SignalInfo = (signal: Int32, sender: Int32, user: UInt32, code: Int32, value: Int32)

    /// The set that has one signal in it; throws for numbers that are none, or that the C library keeps for itself.
    private static func set(of signal: Int32, _ call: String) throws(LoopError) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        guard sigaddset(&set, signal) == 0 else {
            throw LoopError(
                call: "\(call)(\(signal))", advice: "there is no such signal, or the C library keeps it for itself")
        }
        return set
    }

    /// A signalfd for one signal, which has to be blocked.
    static func makeSignalFD(_ signal: Int32) throws(LoopError) -> Descriptor {
        var set = try set(of: signal, "signalfd")
        guard signal != SIGKILL, signal != SIGSTOP else {
            throw LoopError(call: "signalfd(\(signal))", code: EINVAL, advice: "nobody can catch SIGKILL and SIGSTOP")
        }
        return try check("signalfd(\(signal))", signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK)))
    }

    /// The next signal of a signalfd that is pending, for the process or for the calling thread; nil when there is none.
    static func takeSignal(from signalFD: Descriptor) -> SignalInfo? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while true {
            if clinux_read(signalFD, &info, UInt(size)) == size {
                return (Int32(info.ssi_signo), Int32(info.ssi_pid), info.ssi_uid, info.ssi_code, info.ssi_int)
            }
            if errno != EINTR { return nil }
        }
    }

    /// Whether each signal of that number is remembered, and not only the first: so it is from 32 on, for the kernel.
    static func isRealTime(_ signal: Int32) -> Bool { signal >= 32 }

    /// How many signals the kernel keeps for the user of this process, `RLIMIT_SIGPENDING`; `.max` for no limit.
    static var pendingSignalLimit: Int { Int(clamping: clinux_pending_signal_limit()) }

    /// Blocks a signal on the calling thread. Says whether it was blocked before.
    static func block(_ signal: Int32) throws(LoopError) -> Bool {
        var (set, old) = (try set(of: signal, "pthread_sigmask"), sigset_t())
        pthread_sigmask(SIG_BLOCK, &set, &old)
        return sigismember(&old, signal) == 1
    }

    /// The error number for a signal that another thread would take.
    static var busy: Int32 { EBUSY }

    /// Unblocks a signal on the calling thread: if it is pending it takes its ordinary way now.
    static func unblock(_ signal: Int32) {
        guard var set = try? set(of: signal, "pthread_sigmask") else { return }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    // MARK: Processes

    /// A descriptor that becomes readable when a process has ended.
    static func makeProcessFD(_ process: Int32) throws(LoopError) -> Descriptor {
        let descriptor = clinux_pidfd_open(process)
        if descriptor >= 0 { return descriptor }
        let advice = errno == ENOSYS ? "pidfds need Linux 5.4" : nil
        throw LoopError(call: "pidfd_open(\(process))", code: errno, advice: advice)
    }

    /// What waiting for a process tells.
    enum WaitResult {
        /// It has not ended, or a process that traces it has not let go of it.
        case running
        case exited(Int32)
        case killed(_ signal: Int32, coreDumped: Bool)
        /// Not for us to know: it is no child of this process, or somebody else has waited for it.
        case untold
    }

    /// Looks how the process behind a pidfd has ended, without waiting. `reaping` takes its zombie away.
    static func wait(forProcess processFD: Descriptor, reaping: Bool) -> WaitResult {
        var (code, status): (Int32, Int32) = (0, 0)
        let result = clinux_wait(processFD, reaping ? 1 : 0, &code, &status)
        guard result >= 0 else { return .untold }
        guard result > 0 else { return .running }
        switch code {
        case Int32(CLD_EXITED): return .exited(status)
        case Int32(CLD_DUMPED): return .killed(status, coreDumped: true)
        default: return .killed(status, coreDumped: false)
        }
    }

    // MARK: /proc

    /// The kernel's numbers of this process's threads; none where there is no `/proc`.
    static var threadNumbers: [Int32] {
        guard let folder = opendir("/proc/self/task") else { return [] }
        defer { closedir(folder) }
        var numbers: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }

    /// The first 4096 bytes of a file of `/proc`, as text; nil when it cannot be read.
    static func readProcFile(_ path: String) -> String? {
        let file = clinux_open_for_reading(path)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = clinux_read(file, buffer.baseAddress, UInt(buffer.count))
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
