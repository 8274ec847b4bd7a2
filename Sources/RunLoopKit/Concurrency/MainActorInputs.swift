// Handlers of the main actor for the inputs that deliver something: descriptors, messages, signals, processes. The
// mechanism is in MainActorHandlers.swift.

extension Loop.FileDescriptorSource {
    /// Makes a source for ``Loop/main``, for a descriptor that stays the caller's, with a handler of the main actor,
    /// which may touch its state. Another loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - descriptor: Watched from the moment the source is added to a loop.
    ///   - interest: What to wait for.
    ///   - trigger: When to report.
    ///   - isOneShot: Whether to report once only, until ``Loop/FileDescriptorSource/rearm()``.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with what the descriptor is ready for, never empty.
    /// - Throws: ``LoopError``, as `init(_:interest:trigger:isOneShot:label:file:line:handler:)` does.
    public convenience init(
        _ descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            descriptor, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label, file: file,
            line: line, handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }

    /// Makes a source for ``Loop/main`` that owns its descriptor, with a handler of the main actor. See
    /// `init(_:interest:trigger:isOneShot:isolation:label:file:line:handler:)`.
    ///
    /// - Throws: ``LoopError``, as that initializer does. The descriptor is left open then, and is the caller's.
    public convenience init(
        owning descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            owning: descriptor, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label, file: file,
            line: line, handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }
}

extension Loop.MessagePort {
    /// Makes a port for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - capacity: The largest number of waiting messages; less than 1 counts as 1. Nil for no limit.
    ///   - isOneShot: Whether to handle one message only, until ``Loop/MessagePort/rearm()``.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the port; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the port, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with each message, in the order of the sends.
    public convenience init(
        capacity: Int? = nil, isOneShot: Bool = false, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, handler: @escaping @MainActor (_ message: Message) -> Void
    ) {
        self.init(
            capacity: capacity, isOneShot: isOneShot, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: (@Sendable (Message) -> Void).self))
        isolation = .mainActor
    }
}

extension Loop.SignalSource {
    /// Makes a source for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - signal: A signal such as `SIGINT`, or a real-time signal.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with the signals that have arrived, at least one.
    /// - Throws: ``LoopError``, as `init(_:label:file:line:handler:)` does.
    public convenience init(
        _ signal: Int32, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        try self.init([signal], isolation: mainActor, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source for several signals on ``Loop/main`` whose handler belongs to the main actor, and may touch its
    /// state. Another loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - signals: At least one, such as `[SIGTERM, SIGINT]`; a real-time signal alone.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with the signals that have arrived, at least one.
    /// - Throws: ``LoopError``, as `init(_:label:file:line:handler:)` for several signals does.
    public convenience init(
        _ signals: [Int32], isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        try self.init(
            signals, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: (@Sendable (Loop.SignalSource, [Arrival]) -> Void).self))
        isolation = .mainActor
    }
}

extension Loop.ProcessSource {
    /// Makes a source for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - process: The number of a process, which may have ended but must not have been reaped.
    ///   - reaping: Whether to reap a child when its exit is reported.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread, once, with how the process has ended.
    /// - Throws: ``LoopError``, as `init(_:reaping:label:file:line:handler:)` does.
    public convenience init(
        _ process: Int32, reaping: Bool = true, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.ProcessSource, _ exit: Exit) -> Void
    ) throws(LoopError) {
        try self.init(
            process, reaping: reaping, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: (@Sendable (Loop.ProcessSource, Exit) -> Void).self))
        isolation = .mainActor
    }
}

extension Loop.FolderSource {
    /// Makes a source for ``Loop/main`` whose handler belongs to the main actor, and may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - path: The path of a folder.
    ///   - options: What to watch and report besides the folder's own entries.
    ///   - exclusion: What to leave out; nil for nothing. It is not isolated: ``Loop/FolderSource/Exclusion``.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with what has happened; never with an empty array.
    /// - Throws: ``LoopError``, as `init(_:options:label:file:line:handler:)` does.
    public convenience init(
        _ path: String, options: Options = [], excluding exclusion: Exclusion? = nil, isolation mainActor: MainActor,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.FolderSource, _ events: [Event]) -> Void
    ) throws(LoopError) {
        try self.init(
            path, options, exclusion: exclusion, label, Place(file, line),
            unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }
}

extension Loop.ChildProcess {
    /// Starts a program, for ``Loop/main``, with a handler that belongs to the main actor, and may touch its state.
    /// Another loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - program: A path; or a name without a slash, which is looked up in this process's `PATH`.
    ///   - arguments: What follows the name.
    ///   - environment: All variables of the program; nil for those of this process.
    ///   - folder: The program's working folder; nil for that of this process.
    ///   - input: Its standard input.
    ///   - output: Its standard output.
    ///   - error: Its standard error.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread, once, with how the child has ended.
    /// - Throws: ``LoopError``, as the initializer without `isolation` does.
    public convenience init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, folder: String? = nil,
        input: Stream = .null, output: Stream = .inherited, error: ErrorStream = .inherited,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ child: Loop.ChildProcess, _ exit: Exit) -> Void
    ) throws(LoopError) {
        try self.init(
            program, arguments, environment: environment, folder: folder, input: input, output: output, error: error,
            label: label, file: file, line: line, handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }
}
