internal import CLinux

// libdispatch's main queue, in a program that has libdispatch.

extension System {
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
}
