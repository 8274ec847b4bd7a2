internal import CLinux

extension System {
    /// Makes a descriptor that becomes readable when a process ends.
    static func makeProcessFD(_ process: Int32) throws(LoopError) -> Descriptor {
        let descriptor = clinux_pidfd_open(process)
        if descriptor >= 0 { return try aboveStreams(descriptor) }
        let advice = clinux_errno() == ENOSYS ? "pidfds need Linux 5.4" : nil
        throw LoopError(call: "pidfd_open(\(process))", code: clinux_errno(), advice: advice)
    }

    /// The result of waiting for a process.
    enum WaitResult {
        /// It has not ended, or a tracing process has not released it.
        case running
        case exited(Int32)
        case killed(_ signal: Int32, coreDumped: Bool)
        /// Unavailable: it is no child of this process, or has been reaped.
        case unknown
    }

    /// Returns how the process behind a pidfd ended, without waiting. If `reaping`, reaps it. Traps if the descriptor
    /// is no pidfd.
    static func wait(forProcess processFD: Descriptor, reaping: Bool) -> WaitResult {
        var (code, status): (Int32, Int32) = (0, 0)
        let result = clinux_wait(processFD, reaping ? 1 : 0, &code, &status)
        guard result >= 0 else {
            if clinux_errno() == EBADF { descriptorFailed("waitid(pidfd \(processFD))") }
            return .unknown
        }
        guard result > 0 else { return .running }
        switch code {
        case Int32(CLD_EXITED): return .exited(status)
        case Int32(CLD_DUMPED): return .killed(status, coreDumped: true)
        default: return .killed(status, coreDumped: false)
        }
    }
}
