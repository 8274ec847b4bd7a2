internal import CLinux

extension System {
    /// What a signalfd reports about a signal.
    typealias SignalInfo = (signal: Int32, sender: Int32, user: UInt32, code: Int32, value: Int32)

    /// The set of one signal. Throws for a number that is no signal, and for one that the C library reserves.
    private static func set(of signal: Int32, _ call: String) throws(LoopError) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        guard sigaddset(&set, signal) == 0 else {
            throw LoopError(
                call: "\(call)(\(signal))", advice: "there is no such signal, or the C library keeps it for itself")
        }
        return set
    }

    /// Makes a signalfd for one signal, which must be blocked.
    static func makeSignalFD(_ signal: Int32) throws(LoopError) -> Descriptor {
        var set = try set(of: signal, "signalfd")
        guard signal != SIGKILL, signal != SIGSTOP else {
            throw LoopError(call: "signalfd(\(signal))", code: EINVAL, advice: "SIGKILL and SIGSTOP cannot be caught")
        }
        return try check("signalfd(\(signal))", signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK)))
    }

    /// Consumes the next pending signal, of the process or of the calling thread; nil if there is none. Traps on a
    /// failure, since signals would be lost.
    static func takeSignal(from signalFD: Descriptor) -> SignalInfo? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while true {
            let count = clinux_read(signalFD, &info, UInt(size))
            if count >= 0, count != size { clinux_set_errno(EINVAL) }
            if count == size {
                return (Int32(info.ssi_signo), Int32(info.ssi_pid), info.ssi_uid, info.ssi_code, info.ssi_int)
            }
            if clinux_errno() == EAGAIN { return nil }
            if clinux_errno() != EINTR { descriptorFailed("read(signalfd \(signalFD))") }
        }
    }

    /// Whether the kernel queues every signal of that number, and not only the first: those from 32 on.
    static func isRealTime(_ signal: Int32) -> Bool { signal >= 32 }

    /// The number of signals that the kernel queues for the user of this process, `RLIMIT_SIGPENDING`; `.max` for no
    /// limit.
    static var pendingSignalLimit: Int { Int(clamping: clinux_pending_signal_limit()) }

    /// Calls `handler` whenever the process gets a signal, on whichever thread gets it: it must be async-signal-safe.
    static func handle(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) throws(LoopError) {
        guard clinux_handle_signal(signal, handler) == 0 else { throw LoopError(call: "sigaction(\(signal))") }
    }

    /// Blocks a signal on the calling thread. Returns whether it was blocked before.
    static func block(_ signal: Int32) throws(LoopError) -> Bool {
        var (set, old) = (try set(of: signal, "pthread_sigmask"), sigset_t())
        pthread_sigmask(SIG_BLOCK, &set, &old)
        return sigismember(&old, signal) == 1
    }

    /// Blocks all signals on the calling thread.
    static func blockAllSignals() {
        var set = sigset_t()
        sigfillset(&set)
        pthread_sigmask(SIG_SETMASK, &set, nil)
    }

    /// Unblocks a signal on the calling thread. A pending one is delivered at once.
    package static func unblock(_ signal: Int32) {
        guard var set = try? set(of: signal, "pthread_sigmask") else { return }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
