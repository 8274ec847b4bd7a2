// The system calls behind the sources in Inputs/ that watch the outside world. See SystemCalls.swift.

internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Android)
    internal import Android
#endif

extension System {
    // MARK: Any descriptor

    /// Another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
    }

    /// Throws if the descriptor, which the caller knows by `name`, cannot be watched. There is no call that only asks, so
    /// it is put into an epoll set that is thrown away.
    static func checkCanBeWatched(_ descriptor: Descriptor, as name: Descriptor) throws(LoopError) {
        let epoll = try makeEpoll()
        defer { close(epoll) }
        var event = epoll_event()
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 else { return }
        let call = "epoll_ctl(\(name))"
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
        let count = poll(&request, 1, 0)
        return count > 0 ? PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) : []
    }

    // MARK: Unix signals

    /// What a signalfd tells about a signal.
    typealias SignalInfo = (signal: Int32, sender: Int32, user: UInt32, code: Int32, value: Int32)

    /// The set that has one signal in it; throws for numbers that are none, or that the C library keeps for itself.
    private static func set(of signal: Int32, _ call: String) throws(LoopError) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        try check("\(call)(\(signal))", sigaddset(&set, signal))
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
        while true {
            if read(signalFD, &info, MemoryLayout.size(ofValue: info)) == MemoryLayout.size(ofValue: info) {
                return (Int32(info.ssi_signo), Int32(info.ssi_pid), info.ssi_uid, info.ssi_code, info.ssi_int)
            }
            if errno != EINTR { return nil }
        }
    }

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

    /// How the process behind a pidfd has ended: nil when it has not. `reaping` takes its zombie away.
    static func exit(of processFD: Descriptor, reaping: Bool) -> Loop.ProcessSource.Exit? {
        var (code, status): (Int32, Int32) = (0, 0)
        let result = clinux_wait(processFD, reaping ? 1 : 0, &code, &status)
        // No child of ours, or reaped by somebody else. A pidfd is readable only once its process has ended.
        guard result >= 0 else { return readiness(of: processFD, for: .read).isEmpty ? nil : .unknown }
        guard result > 0 else { return nil }
        switch code {
        case Int32(CLD_EXITED): return .exited(status)
        case Int32(CLD_DUMPED): return .signalled(status, coreDumped: true)
        default: return .signalled(status, coreDumped: false)
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
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
