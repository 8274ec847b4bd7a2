extension Loop.ChildProcess {
    /// What a child gets as its standard input or output.
    public enum Stream: Equatable, Sendable {
        /// That of this process. A child that reads from a terminal is stopped by SIGTTIN, since its group is not the
        /// terminal's.
        case inherited

        /// `/dev/null`.
        case null

        /// A descriptor of this process, which stays the caller's. Close the end of a pipe that the child has got:
        /// otherwise the other end never comes to an end.
        case descriptor(_ descriptor: Int32)

        /// A pipe, whose other end is a connection of this process: ``Loop/ChildProcess/inputConnection`` or
        /// ``Loop/ChildProcess/outputConnection``. Set the handler of an output's: until then nothing is read, and a
        /// child that writes more than the pipe holds waits. An output without a handler is reported when the child's
        /// end was handled: ``Loop/Mistake/unreadOutput(connection:)``.
        case pipe
    }

    /// What a child gets as its standard error.
    public enum ErrorStream: Equatable, Sendable {
        /// That of this process.
        case inherited

        /// `/dev/null`.
        case null

        /// A descriptor of this process, which stays the caller's.
        case descriptor(_ descriptor: Int32)

        /// What its output is.
        case sameAsOutput

        /// A pipe of its own, whose other end is a connection of this process:
        /// ``Loop/ChildProcess/errorConnection``, whose handler must be set as that of the output.
        case pipe
    }
}

extension ChildGroup {
    /// Starts a program. What may fail after that is tried before: whether the kernel has pidfds, and whether there is
    /// a descriptor left.
    static func start(
        _ program: String, _ arguments: [String], _ environment: [String: String]?, _ folder: String?,
        _ streams: ChildPipes.Streams
    ) throws(LoopError) -> ChildGroup {
        let call = "\(program.contains("/") ? "posix_spawn" : "posix_spawnp")(\(program.printable))"
        if let fault = fault(program, arguments, environment, folder) {
            throw LoopError(call: call, code: System.invalidArgument, advice: fault)
        }
        System.close(try System.makeProcessFD(System.processNumber))
        let spare = try System.makeEventFD()
        let (process, code) = System.spawn(
            program, [program] + arguments,
            environment: environment.map { $0.map { "\($0.key)=\($0.value)" }.sorted() }, folder: folder, streams)
        guard code == 0 else {
            System.close(spare)
            if let folder, case let code = System.errorEntering(folder), code != 0 {
                throw LoopError(call: "chdir(\(folder.printable))", code: code)
            }
            throw LoopError(call: call, code: code)
        }
        do throws(LoopError) {
            let processFD = try System.makeProcessFD(process)
            if case .unknown = System.wait(forProcess: processFD, reaping: false) {
                // Another process may have got its number before the call.
                System.close(processFD)
                return lost(process, spare)
            }
            System.close(spare)
            return ChildGroup(process, processFD, isLost: false)
        } catch {
            if error.errno == System.noSuchProcess { return lost(process, spare) }
            System.close(spare)
            if let processFD = try? System.makeProcessFD(process) {
                return ChildGroup(process, processFD, isLost: false)
            }
            System.kill(group: process)
            System.reap(process)
            throw error
        }
    }

    /// A child that has ended already, and that the kernel or other code has reaped.
    private static func lost(_ process: Int32, _ spare: Descriptor) -> ChildGroup {
        System.signal(eventFD: spare)
        return ChildGroup(process, spare, isLost: true)
    }

    /// What cannot be passed to a program.
    private static func fault(
        _ program: String, _ arguments: [String], _ environment: [String: String]?, _ folder: String?
    ) -> String? {
        func hasNUL(_ text: String) -> Bool { text.utf8.contains(0) }
        if hasNUL(program) { return "the program's name contains a NUL" }
        if let index = arguments.firstIndex(where: hasNUL) { return "argument \(index + 1) contains a NUL" }
        if let folder, hasNUL(folder) { return "the working folder contains a NUL" }
        for (name, value) in environment ?? [:] {
            if name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) {
                return "\"\(name.excerpt)\" is no name of a variable"
            }
            if hasNUL(name) || hasNUL(value) { return "the variable \"\(name.excerpt)\" contains a NUL" }
        }
        return nil
    }
}
