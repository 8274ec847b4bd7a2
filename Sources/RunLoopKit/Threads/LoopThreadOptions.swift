extension LoopThread {
    /// What a `LoopThread` asks of the kernel for its thread. What is nil, as everything is by default, stays as the
    /// thread inherits it from the one that makes it.
    ///
    /// For threads with a task of their own: an audio thread wants a realtime policy and little timer slack, one that
    /// cleans up in the background wants to be nice.
    ///
    /// ```swift
    /// let options = LoopThread.Options(
    ///     name: "audio", scheduling: .fifo(priority: 10), timerSlack: .zero, onRefusal: .runAnyway)
    /// let audio = try LoopThread(options: options)
    /// for refusal in audio.refusedOptions { print(refusal) }
    /// audio.perform { print("on the audio thread") }
    /// ```
    ///
    /// Without the permission this prints `sched_setscheduler(SCHED_FIFO, 10): Operation not permitted (EPERM); it
    /// takes CAP_SYS_NICE, or RLIMIT_RTPRIO of 10 or more`, and the thread runs as an ordinary one.
    ///
    /// **Values that are valid nowhere** are thrown by `LoopThread(options:)` as a `LoopError` with EINVAL, whatever
    /// `onRefusal` says, before any thread is made. What *this* kernel or process is refused is up to `onRefusal`.
    ///
    /// The options are set by the thread itself before its loop runs. Threads that it makes inherit all of them but
    /// the name and the stack. Cocoa: `Thread.name`, `stackSize`, `threadPriority` and `qualityOfService`.
    public struct Options: Sendable, Hashable {
        /// For debuggers and `/proc`, where the first 15 bytes are seen.
        public var name: String

        /// In bytes; nil for the system's default. One that is too small (the least is 16 KiB on most machines), or
        /// that cannot be had, is always thrown: there is no thread then.
        public var stackSize: Int?

        /// From -20, which gets the most of the processor, to 19. On Linux it belongs to the thread, not the process. A
        /// lower value than the inherited one takes CAP_SYS_NICE or RLIMIT_NICE. Without effect on realtime policies.
        public var nice: Int?

        /// The numbers of the CPUs that the thread may run on: at least one. A number that is not negative but that the
        /// machine does not have, or the process may not use, is refused; with `.runAnyway` the thread is tied to the
        /// rest, or to none if there is no rest.
        public var cpus: Set<Int>?

        /// The scheduling policy, and for realtime ones the priority.
        public var scheduling: Scheduling?

        /// By how much the kernel may delay the thread's waits, so that several end together; 50 µs unless somebody
        /// changed it. Zero asks for the least there is, a nanosecond. Negative is valid nowhere; more than 292 years
        /// is taken as that. Threads under a realtime policy have none in any case.
        public var timerSlack: Duration?

        /// What happens when the kernel refuses one of these.
        public var onRefusal: Refusal

        /// Options; those that are left out stay as the thread inherits them.
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
        /// The ordinary policy, which looks at nice values. `SCHED_OTHER`.
        case normal

        /// As `normal`, for work that computes rather than answers: it is preempted less. `SCHED_BATCH`.
        case batch

        /// Runs when nothing else wants to. `SCHED_IDLE`.
        case idle

        /// Realtime: runs until it waits or something of a higher priority comes; 1 is the lowest, 99 the highest. A
        /// handler that does not return keeps the processor to itself. `SCHED_FIFO`.
        case fifo(priority: Int)

        /// As `fifo`, but takes turns with others of the same priority. `SCHED_RR`.
        case roundRobin(priority: Int)
    }

    /// What happens when the kernel refuses an option.
    public enum Refusal: Sendable, Hashable {
        /// The thread ends at once, and the first refusal is thrown.
        case fail

        /// The thread runs without it; `LoopThread.refusedOptions` tells.
        case runAnyway
    }
}
