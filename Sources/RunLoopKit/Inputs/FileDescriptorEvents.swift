extension Loop.FileDescriptorSource {
    /// What a source waits for. A handler gets a ``Readiness``, whose words are adjectives. Hang-ups and errors are
    /// always reported, unless the source is disarmed.
    ///
    /// | interest | readiness |
    /// |---|---|
    /// | ``read`` | ``Readiness/readable``; of a stream socket whose peer has finished, ``Readiness/readHangUp`` too |
    /// | ``write`` | ``Readiness/writable`` |
    /// | ``priority`` | ``Readiness/priority`` |
    /// | ``readHangUp`` | ``Readiness/readHangUp`` |
    /// | any, or none | ``Readiness/hangUp``, ``Readiness/error`` |
    ///
    /// ```swift
    /// let source = try Loop.FileDescriptorSource(socket, interest: [.read, .write]) { source, ready in
    ///     if ready.contains(.readable) { … }  // or its end: read says which
    ///     if ready.contains(.writable) {
    ///         send(source.descriptor, "hello", 5, Int32(MSG_NOSIGNAL))
    ///         source.interest = .read  // there is nearly always room: wait for it only while bytes wait
    ///     }
    /// }
    /// ```
    public struct Interest: OptionSet, Hashable, Sendable {
        /// The option's bit.
        public let rawValue: UInt8

        /// Options made of bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Data to read, a connection to accept, or the end of the data. CF: `kCFFileDescriptorReadCallBack`.
        public static let read = Interest(rawValue: 1)

        /// Room to write. CF: `kCFFileDescriptorWriteCallBack`.
        public static let write = Interest(rawValue: 2)

        /// An exceptional condition (EPOLLPRI): out-of-band data of a TCP socket, or a change of `/proc/mounts` or of
        /// an attribute in `/sys`, such as a GPIO's. See <doc:TerminalsFilesAndSockets#Files-sockets-names>.
        public static let priority = Interest(rawValue: 4)

        /// The end of the data alone (EPOLLRDHUP): the other end of a stream socket has finished writing, or is closed.
        /// ``read`` includes it. Use it for a source that pauses reading but must notice the end.
        ///
        /// The report repeats. Change the interest after the first one, or use an edge-triggered source.
        public static let readHangUp = Interest(rawValue: 8)

        /// Not an event, but a way to wait: one event does not wake all loops that wait for the same file
        /// (EPOLLEXCLUSIVE). Each loop has a source of its own, and all these sources have this option.
        ///
        /// - The kernel wakes one sleeping loop, or a few if events follow each other closely. A busy loop finds the
        ///   event when it looks next.
        /// - A handler may find nothing, since another loop was first: the descriptor must not block. Make one `accept`
        ///   a call, since what is left is reported again.
        /// - **It does not spread the events.** The kernel mostly wakes the same loop, which gets all connections of a
        ///   listening socket. See <doc:TerminalsFilesAndSockets#Connections-on-several-processors>.
        /// - It applies to ``read`` and ``write``, and has no effect together with ``priority`` or ``readHangUp``. With
        ///   ``read`` alone, the source does not report ``Readiness/readHangUp``.
        /// - It has no effect while a loop is hosted, in virtual time, or for an epoll set. It requires Linux 4.5.
        public static let exclusive = Interest(rawValue: 16)
    }

    /// What a descriptor is ready for. ``Interest`` has a table of what is reported for which interest.
    public struct Readiness: OptionSet, Hashable, Sendable {
        /// The option's bit.
        public let rawValue: UInt8

        /// Options made of bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is data, a connection or the end.
        ///
        /// Rarely there is none any more: another process has read it, a connection was reset before `accept`, or a
        /// datagram was damaged. Reading then blocks, unless the descriptor has `O_NONBLOCK`.
        public static let readable = Readiness(rawValue: 1)

        /// There is room to write, for a byte at least. Without `O_NONBLOCK` a larger write may block.
        public static let writable = Readiness(rawValue: 2)

        /// There is an exceptional condition.
        public static let priority = Readiness(rawValue: 4)

        /// The other end is closed. There may be data left to read.
        public static let hangUp = Readiness(rawValue: 8)

        /// The other end of a stream socket has finished writing. Reported to sources that wait for
        /// ``Loop/FileDescriptorSource/Interest/read`` or ``Loop/FileDescriptorSource/Interest/readHangUp``.
        public static let readHangUp = Readiness(rawValue: 16)

        /// The descriptor is in error or, for the writing end of a pipe, all reading ends are closed.
        public static let error = Readiness(rawValue: 32)
    }
}

extension Loop.FileDescriptorSource.Interest: CustomStringConvertible {
    /// The options, their names, and the kernel's events.
    fileprivate static let all: [(option: Self, name: String, events: PollEvents)] = [
        (.read, "read", [.read, .readHangUp]), (.write, "write", .write), (.priority, "priority", .priority),
        (.readHangUp, "readHangUp", .readHangUp), (.exclusive, "exclusive", []),
    ]

    /// The options' names, such as `read|write`; `nothing` when there are none.
    public var description: String { Self.all.filter { contains($0.option) }.map(\.name).joinedOptions }
}

extension Loop.FileDescriptorSource.Readiness: CustomStringConvertible {
    /// The options, their names, and the kernel's events.
    private static let all: [(option: Self, name: String, event: PollEvents)] = [
        (.readable, "readable", .read), (.writable, "writable", .write), (.priority, "priority", .priority),
        (.hangUp, "hangUp", .hangUp), (.readHangUp, "readHangUp", .readHangUp), (.error, "error", .error),
    ]

    /// The options' names, such as `readable|hangUp`; `nothing` when there are none.
    public var description: String { Self.all.filter { contains($0.option) }.map(\.name).joinedOptions }

    init(_ events: PollEvents) {
        self = []
        for (option, _, event) in Self.all where events.contains(event) { insert(option) }
    }
}

extension PollEvents {
    init(_ interest: Loop.FileDescriptorSource.Interest) {
        self = []
        for (option, _, events) in Loop.FileDescriptorSource.Interest.all where interest.contains(option) {
            formUnion(events)
        }
    }
}

extension [String] {
    fileprivate var joinedOptions: String { isEmpty ? "nothing" : joined(separator: "|") }
}
