internal import CLinux

/// Backtraces: of the calling thread, and of other threads, each taken by a signal handler in the thread itself.
///
/// Only this file calls the functions of CLinux that share the request.
extension System {
    /// SIGURG: its default action is to ignore it, and few programs handle it.
    package static var defaultBacktraceSignal: Int32 { SIGURG }

    /// Installs the handler of a signal for backtraces.
    ///
    /// - Throws: EBUSY if the program handles the signal itself; EINVAL if there is no such signal.
    package static func prepareBacktraces(by signal: Int32) throws(LoopError) {
        // Initializes the unwinder outside the handler.
        let backtrace = UnsafeMutablePointer<clinux_backtrace>.allocate(capacity: 1)
        clinux_write_backtrace(backtrace)
        backtrace.deallocate()
        let code = clinux_install_backtrace_signal(signal)
        guard code != 0 else { return }
        throw LoopError(
            call: "sigaction(\(signal))", code: code,
            advice: code == EBUSY ? "the program handles this signal: name another one for backtraces" : nil)
    }

    /// The addresses in the frames of the calling thread, innermost first: the caller's own comes first.
    @inline(never)
    package static func backtrace(depth: Int) -> [UInt] {
        let backtrace = UnsafeMutablePointer<clinux_backtrace>.allocate(capacity: 1)
        defer { backtrace.deallocate() }
        clinux_write_backtrace(backtrace)
        let count = min(depth, Int(backtrace.pointee.count))
        return withUnsafeBytes(of: &backtrace.pointee.addresses) { Array($0.bindMemory(to: UInt.self).prefix(count)) }
    }

    /// The kernel's number of the calling thread.
    package static var kernelThreadNumber: Int32 { clinux_thread_id() }

    /// In a forked child: no request of its parent's is under way.
    static func leaveBacktraceToParent() { clinux_leave_backtrace_to_parent() }

    /// The addresses in the frames of a thread, innermost first, and the monotonic time when the signal found it there.
    package struct Sample: Sendable {
        package let time: Int64
        package let addresses: [UInt]
    }

    /// Where another thread of this process is. Nil if the thread does not answer within the time, as one that blocks
    /// the signal; and at once in a child that a signal handler has forked meanwhile, which has no such thread.
    ///
    /// One thread at a time requests a backtrace. The others wait until its request is over, as long as ten take at
    /// most.
    package static func sample(ofThread thread: Int32, by signal: Int32, within nanoseconds: Int64) -> Sample? {
        let process = ProcessMark.current
        let lastBegin = monotonicNanoseconds() + 10 * nanoseconds
        while clinux_request_backtrace(thread, signal) == 0 {
            guard monotonicNanoseconds() < lastBegin else { return nil }
            clinux_pause(20_000)
        }
        defer { clinux_end_backtrace() }
        let end = monotonicNanoseconds() + nanoseconds
        while clinux_has_backtrace() == 0 {
            guard monotonicNanoseconds() < end, process.isCurrent else { return nil }
            // Polled, since a handler must not do much to wake a thread.
            clinux_pause(20_000)
        }
        return Sample(
            time: clinux_backtrace_time(),
            addresses: (0..<clinux_backtrace_count()).map { UInt(clinux_backtrace_address($0)) })
    }
}
