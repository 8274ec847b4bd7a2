internal import CLinux

extension System {
    /// The eventfd of libdispatch's main queue, or -1 in a program without libdispatch. The first call must be on the
    /// initial thread.
    static func mainQueueDescriptor() -> Descriptor { clinux_main_queue_descriptor() }

    /// Runs the jobs in the main queue. On the initial thread only.
    static func drainMainQueue() { clinux_drain_main_queue() }

    /// Posts a job to the main queue, in a program that has one.
    static func postToMainQueue(_ job: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        // libdispatch writes to its eventfd, which is a cancellation point: a thread cancelled there would never finish
        // the initialization that calls this.
        let state = clinux_begin_uncancellable()
        clinux_post_to_main_queue(job)
        clinux_end_uncancellable(state)
    }
}
