internal import CLinux

extension System {
    /// What a child gets as one of its standard streams.
    enum ChildStream: Sendable {
        case inherited
        case null
        case descriptor(Descriptor)
        /// For the error stream: what the output is.
        case sameAsOutput
    }

    /// Makes a pipe, whose ends are closed on exec.
    static func makePipe(isNonBlocking: Bool) throws(LoopError) -> (reader: Descriptor, writer: Descriptor) {
        var ends: (reader: Descriptor, writer: Descriptor) = (-1, -1)
        try withUnsafeMutableBytes(of: &ends) { bytes throws(LoopError) in
            let pair = bytes.assumingMemoryBound(to: Descriptor.self).baseAddress
            try check("pipe2", pipe2(pair, isNonBlocking ? O_CLOEXEC | O_NONBLOCK : O_CLOEXEC))
        }
        do throws(LoopError) {
            ends.reader = try aboveStreams(ends.reader)
        } catch {
            close(ends.writer)
            throw error
        }
        do throws(LoopError) {
            ends.writer = try aboveStreams(ends.writer)
        } catch {
            close(ends.reader)
            throw error
        }
        return ends
    }

    /// Starts a program: in a process group of its own, with default signals, and with no descriptors but the three.
    /// A name without a slash is looked up in this process's PATH. No string may contain a NUL.
    ///
    /// - Returns: The child's number and 0, or the error's number.
    static func spawn(
        _ program: String, _ arguments: [String], environment: [String]?, folder: String?,
        _ streams: (ChildStream, ChildStream, ChildStream)
    ) -> (process: Int32, error: Int32) {
        var duplicates: [Descriptor] = []
        defer { for descriptor in duplicates { close(descriptor) } }
        var numbers: [Int32] = []
        for (number, stream) in [streams.0, streams.1, streams.2].enumerated() {
            switch stream {
            case .inherited: numbers.append(Int32(CLINUX_STREAM_INHERITED))
            case .null: numbers.append(Int32(CLINUX_STREAM_NULL))
            case .sameAsOutput: numbers.append(Int32(CLINUX_STREAM_AS_OUTPUT))
            case .descriptor(let descriptor) where descriptor == Int32(number) || descriptor > 2:
                numbers.append(descriptor)
            case .descriptor(let descriptor):
                // Another stream would take its place before it is used.
                let duplicate = clinux_duplicate_above_streams(descriptor)
                guard duplicate >= 0 else { return (0, lastError) }
                duplicates.append(duplicate)
                numbers.append(duplicate)
            }
        }
        var process: Int32 = 0
        let error = withCStrings(arguments) { arguments in
            guard let environment else { return clinux_spawn(&process, program, arguments, nil, folder, numbers) }
            return withCStrings(environment) { clinux_spawn(&process, program, arguments, $0, folder, numbers) }
        }
        return (process, error)
    }

    /// Calls `body` with a null-terminated array of C strings.
    private static func withCStrings(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
    ) -> Int32 {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    /// This process's own number.
    package static var processNumber: Int32 { getpid() }

    /// The error of a number that is no process's.
    static var noSuchProcess: Int32 { ESRCH }

    /// The error of entering a folder; 0 if this process may.
    static func errorEntering(_ folder: String) -> Int32 { clinux_error_entering(folder) }

    static func isOpen(_ descriptor: Descriptor) -> Bool { clinux_is_open(descriptor) }

    /// Throws the error of a stream whose descriptor is not open.
    static func requireOpen(_ descriptor: Descriptor) throws(LoopError) {
        guard isOpen(descriptor) else { throw LoopError(call: "dup2(\(descriptor))", code: badDescriptor) }
    }

    // MARK: The end

    /// Signals a process group, and the process of its number if that has joined another. Returns whether it could
    /// signal anybody.
    static func signal(group: Int32, _ signal: Int32) -> Bool {
        let isSent = clinux_kill(-group, signal) == 0
        if clinux_group_of(group) == group { return isSent }
        return clinux_kill(group, signal) == 0 || isSent
    }

    /// Asks a process group to end, and continues it: a process that is stopped takes no other signal.
    static func terminate(group: Int32) {
        _ = signal(group: group, SIGTERM)
        _ = signal(group: group, SIGCONT)
    }

    static func kill(group: Int32) { _ = signal(group: group, SIGKILL) }

    /// A process of a group other than its leader.
    enum GroupMember {
        /// It has not ended. The descriptor is a pidfd, which the caller closes.
        case living(Descriptor)
        case none
        /// There is no `/proc`, or no descriptor left.
        case unknown
    }

    /// Looks for a process that is in a group, is not its leader, and has not ended.
    static func member(ofGroup group: Int32) -> GroupMember {
        switch clinux_open_member_of_group(group) {
        case -1: .none
        case -2: .unknown
        case let processFD: (try? aboveStreams(processFD)).map { .living($0) } ?? .unknown
        }
    }

    /// Waits for a child that has no pidfd, and reaps it.
    static func reap(_ process: Int32) {
        while clinux_reap(process) < 0, lastError == EINTR {}
    }

    /// Waits until the child behind a pidfd has ended, and reaps nothing.
    static func waitForEnd(of processFD: Descriptor) { clinux_wait_for_end(processFD) }
}
