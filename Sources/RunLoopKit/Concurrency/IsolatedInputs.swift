// Isolated handlers of the inputs that deliver something: descriptors, messages, signals, processes. The mechanism is
// in IsolatedHandlers.swift.

extension Loop.FileDescriptorSource {
    /// Makes a source for a descriptor that stays the caller's, with a handler that is isolated to an actor on the loop
    /// and may touch its state.
    ///
    /// ```swift
    /// let source = try Loop.FileDescriptorSource(socket, isolation: self) { connection, source, ready in
    ///     connection.receive(from: source.descriptor)
    /// }
    /// thread.loop.add(source, in: .default)
    /// ```
    ///
    /// ``Loop/Item`` has the rules of such handlers. The actor is not retained: the first report after its deallocation
    /// invalidates the source.
    ///
    /// - Parameters:
    ///   - descriptor: Watched from the moment the source is added to a loop.
    ///   - interest: What to wait for.
    ///   - trigger: When to report.
    ///   - isOneShot: Whether to report once only, until ``Loop/FileDescriptorSource/rearm()``.
    ///   - actor: Its executor is the loop that the source is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with what the descriptor is ready for, never empty.
    /// - Throws: ``LoopError``, as `init(_:interest:trigger:isOneShot:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        _ descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(
            descriptor, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label, file: file, line: line
        ) {
            isolated.call(($0, $1))
        }
        isolated.belongs(to: self)
    }

    /// Makes a source that owns its descriptor, and closes it when it is invalidated or deallocated, with a handler
    /// that is isolated to an actor on the loop. See
    /// `init(_:interest:trigger:isOneShot:isolation:label:file:line:handler:)`.
    ///
    /// - Throws: ``LoopError``, as `init(_:interest:trigger:isOneShot:label:file:line:handler:)` does. The descriptor
    ///   stays open then, and is the caller's.
    public convenience init<A: Actor>(
        owning descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(
            owning: descriptor, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label, file: file,
            line: line
        ) {
            isolated.call(($0, $1))
        }
        isolated.belongs(to: self)
    }
}

extension Loop.MessagePort {
    /// Makes a port whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    ///
    /// Once the actor is deallocated, the port drops the next message and invalidates itself with the rest that waits.
    /// From then on ``Loop/MessagePort/send(_:)`` returns false.
    ///
    /// - Parameters:
    ///   - capacity: The largest number of waiting messages; less than 1 counts as 1. Nil for no limit.
    ///   - isOneShot: Whether to handle one message only, until ``Loop/MessagePort/rearm()``.
    ///   - actor: Its executor is the loop that the port is added to, or another one of the same thread.
    ///   - label: What diagnostics call the port; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the port, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread, once for each message.
    public convenience init<A: Actor>(
        capacity: Int? = nil, isOneShot: Bool = false, isolation actor: A, label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ message: Message) -> Void
    ) {
        let isolated = IsolatedHandler(actor, handler)
        self.init(capacity: capacity, isOneShot: isOneShot, label: label, file: file, line: line) { isolated.call($0) }
        isolated.belongs(to: self)
    }
}

extension Loop.SignalSource {
    /// Makes a source whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    ///
    /// The first signal after the actor's deallocation is dropped, and invalidates the source. The next one is
    /// delivered as usual. If that is too late, invalidate the source yourself.
    ///
    /// - Parameters:
    ///   - signal: A signal such as `SIGINT`, or a real-time signal.
    ///   - actor: Its executor is the loop that the source is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with all signals that have arrived since its last call, in order; at
    ///     least one.
    /// - Throws: ``LoopError``, as `init(_:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        _ signal: Int32, isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        try self.init([signal], isolation: actor, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source for several signals whose handler is isolated to an actor on the loop, and may touch its state.
    /// `init(_:isolation:label:file:line:handler:)` for one signal says what becomes of it with its actor.
    ///
    /// - Parameters:
    ///   - signals: At least one, such as `[SIGTERM, SIGINT]`; a real-time signal alone.
    ///   - actor: Its executor is the loop that the source is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with all signals that have arrived since its last call, in order; at
    ///     least one.
    /// - Throws: ``LoopError``, as `init(_:label:file:line:handler:)` for several signals does.
    public convenience init<A: Actor>(
        _ signals: [Int32], isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(signals, label: label, file: file, line: line) {
            isolated.call(($0, $1))
        }
        isolated.belongs(to: self)
    }
}

extension Loop.ProcessSource {
    /// Makes a source whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    ///
    /// An exit after the actor's deallocation is not reported; a child is reaped all the same.
    ///
    /// - Parameters:
    ///   - process: The number of a process, which may have ended but must not have been reaped.
    ///   - reaping: Whether to reap a child when its exit is reported.
    ///   - actor: Its executor is the loop that the source is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called once, on the loop's thread.
    /// - Throws: ``LoopError``, as `init(_:reaping:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        _ process: Int32, reaping: Bool = true, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.ProcessSource, _ exit: Exit) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(process, reaping: reaping, label: label, file: file, line: line) { isolated.call(($0, $1)) }
        isolated.belongs(to: self)
    }
}

extension Loop.FolderSource {
    /// Makes a source whose handler is isolated to an actor on the loop, and may touch its state. ``Loop/Item`` has the
    /// rules of such handlers.
    ///
    /// - Parameters:
    ///   - path: The path of a folder.
    ///   - options: What to watch and report besides the folder's own entries.
    ///   - exclusion: What to leave out; nil for nothing. It is not isolated: ``Loop/FolderSource/Exclusion``.
    ///   - actor: Its executor is the loop that the source is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with what has happened; never with an empty array.
    /// - Throws: ``LoopError``, as `init(_:options:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        _ path: String, options: Options = [], excluding exclusion: Exclusion? = nil, isolation actor: A,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.FolderSource, _ events: [Event]) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(path, options, exclusion: exclusion, label, Place(file, line)) { isolated.call(($0, $1)) }
        isolated.belongs(to: self)
    }
}

extension Loop.ChildProcess {
    /// Starts a program, with a handler that is isolated to an actor on the loop, and may touch its state.
    /// ``Loop/Item`` has the rules of such handlers.
    ///
    /// An exit after the actor's deallocation is not reported; the child is reaped all the same.
    ///
    /// - Parameters:
    ///   - program: A path; or a name without a slash, which is looked up in this process's `PATH`.
    ///   - arguments: What follows the name.
    ///   - environment: All variables of the program; nil for those of this process.
    ///   - folder: The program's working folder; nil for that of this process.
    ///   - input: Its standard input.
    ///   - output: Its standard output.
    ///   - error: Its standard error.
    ///   - actor: Its executor is the loop that the child is added to, or another one of the same thread.
    ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the source, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called once, on the loop's thread.
    /// - Throws: ``LoopError``, as the initializer without `isolation` does.
    public convenience init<A: Actor>(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, folder: String? = nil,
        input: Stream = .null, output: Stream = .inherited, error: ErrorStream = .inherited,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ child: Loop.ChildProcess, _ exit: Exit) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(
            program, arguments, environment: environment, folder: folder, input: input, output: output, error: error,
            label: label, file: file, line: line
        ) { isolated.call(($0, $1)) }
        isolated.belongs(to: self)
    }
}
