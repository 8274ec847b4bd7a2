internal import CLinux

extension System {
    /// A descriptor that becomes readable when a process has ended.
    static func makeProcessFD(_ process: Int32) throws(LoopError) -> Descriptor {
        let descriptor = clinux_pidfd_open(process)
        if descriptor >= 0 { return descriptor }
        let advice = clinux_errno() == ENOSYS ? "pidfds need Linux 5.4" : nil
        throw LoopError(call: "pidfd_open(\(process))", code: clinux_errno(), advice: advice)
    }

    /// What waiting for a process tells.
    enum WaitResult {
        /// It has not ended, or a process that traces it has not let go of it.
        case running
        case exited(Int32)
        case killed(_ signal: Int32, coreDumped: Bool)
        /// Not for us to know: it is no child of this process, or somebody else has waited for it.
        case unknown
    }

    /// Looks how the process behind a pidfd has ended, without waiting. `reaping` takes its zombie away.
    static func wait(forProcess processFD: Descriptor, reaping: Bool) -> WaitResult {
        var (code, status): (Int32, Int32) = (0, 0)
        let result = clinux_wait(processFD, reaping ? 1 : 0, &code, &status)
        guard result >= 0 else { return .unknown }
        guard result > 0 else { return .running }
        switch code {
        case Int32(CLD_EXITED): return .exited(status)
        case Int32(CLD_DUMPED): return .killed(status, coreDumped: true)
        default: return .killed(status, coreDumped: false)
        }
    }
}
