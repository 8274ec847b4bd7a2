extension LoopThread {
    /// What a ``LoopThread`` requests from the kernel for its thread. The thread inherits every property that is nil,
    /// the default, from the thread that makes it.
    ///
    /// ```swift
    /// let options = LoopThread.Options(name: "audio", scheduling: .fifo(priority: 10), onRefusal: .runAnyway)
    /// let audio = try LoopThread(options: options)
    /// for refusal in audio.refusedOptions { print(refusal) }
    /// audio.perform { print("on the audio thread") }
    /// ```
    ///
    /// Without the permission this prints `sched_setscheduler(SCHED_FIFO, 10): Operation not permitted (EPERM); it
    /// takes CAP_SYS_NICE, or RLIMIT_RTPRIO of 10 or more`, and the thread runs as an ordinary one.
    ///
    /// - *A value that is valid nowhere* makes `LoopThread(options:)` throw a ``LoopError`` with EINVAL. `onRefusal`
    ///   decides about what this kernel refuses to this process.
    /// - *Inheritance:* the thread sets the options itself before its loop runs. Threads that it makes inherit all but
    ///   the name and the stack.
    ///
    /// Cocoa: `NSThread.name`, `stackSize`, `threadPriority` and `qualityOfService`.
    public struct Options: Sendable, Hashable {
        /// For debuggers and `/proc`, which show the first 15 bytes.
        public var name: String

        /// In bytes; nil means the system's default. A size that is too small (the minimum is 16 KiB on most machines)
        /// or unavailable is always an error: there is no thread then.
        public var stackSize: Int?

        /// From -20, which gets most processor time, to 19. On Linux it belongs to the thread, not the process. A lower
        /// value than the inherited one requires CAP_SYS_NICE or RLIMIT_NICE. It does not affect realtime policies.
        public var nice: Int?

        /// The numbers of the CPUs that the thread may run on: at least one. A number that the machine does not have,
        /// or the process may not use, is refused. With `.runAnyway` the thread is restricted to the others, or not at
        /// all if there is none. A negative number is never valid.
        public var cpus: Set<Int>?

        /// The scheduling policy, and the priority of a realtime one.
        public var scheduling: Scheduling?

        /// How long the kernel may delay the end of waits with a limit that the thread's handlers make themselves, such
        /// as `usleep` and `poll`, to coalesce several; usually 50 µs. Zero requests the minimum, a nanosecond.
        ///
        /// It delays no timer of the loop, which a timerfd wakes: to let timers share wake-ups, set their
        /// ``Loop/Timer/tolerance``. Negative values are never valid; more than 292 years counts as 292 years. A thread
        /// with a realtime policy has no slack.
        public var timerSlack: Duration?

        /// What happens when the kernel refuses one of these.
        public var onRefusal: Refusal

        /// Makes options. The thread inherits those that are left out.
        public init(
            name: String = "RunLoopKit", stackSize: Int? = nil, nice: Int? = nil, cpus: Set<Int>? = nil,
            scheduling: Scheduling? = nil, timerSlack: Duration? = nil, onRefusal: Refusal = .fail
        ) {
            self.name = name
            self.stackSize = stackSize
            self.nice = nice
            self.cpus = cpus
            self.scheduling = scheduling
            self.timerSlack = timerSlack
            self.onRefusal = onRefusal
        }
    }

    /// How the kernel shares the processor between a thread and others; see `sched(7)`.
    public enum Scheduling: Sendable, Hashable {
        /// The ordinary policy, which respects nice values. `SCHED_OTHER`.
        case normal

        /// As `normal`, for work that computes and need not respond: it is preempted less. `SCHED_BATCH`.
        case batch

        /// Runs when no other thread is ready. `SCHED_IDLE`.
        case idle

        /// Realtime: runs until it waits or a thread of a higher priority is ready; 1 is the lowest, 99 the highest. A
        /// handler that does not return occupies its processor. `SCHED_FIFO`.
        case fifo(priority: Int)

        /// As `fifo`, but takes turns with others of the same priority. `SCHED_RR`.
        case roundRobin(priority: Int)
    }

    /// What happens when the kernel refuses an option.
    public enum Refusal: Sendable, Hashable {
        /// The thread ends at once, and the first refusal is thrown.
        case fail

        /// The thread runs without it; ``LoopThread/refusedOptions`` lists it.
        case runAnyway
    }
}
