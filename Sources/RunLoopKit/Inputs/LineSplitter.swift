extension Loop {
    /// Divides a stream of bytes into lines of a maximal length: those of a ``Loop/Connection``, of a child's output,
    /// or of a descriptor that the program reads.
    ///
    /// ```swift
    /// let lines = LoopBound(Loop.LineSplitter(maximalLength: 1024), on: .current)
    /// let connection = try Loop.Connection(connectingTo: .tcp(.loopback, port: 7007)) { connection, event in
    ///     for line in lines.value.add(event) {
    ///         guard let text = line.text else { return connection.invalidate() }  // too long
    ///         print(text)
    ///     }
    ///     if event == .peerFinished { connection.end() }
    /// }
    /// Loop.current.add(connection)
    /// ```
    ///
    /// A line ends with a newline, which is not part of it. How the bytes are divided into chunks does not matter.
    ///
    /// - *A line that is too long* is reported once, as soon as that is known. Its bytes are dropped, up to its
    ///   newline; the next line is reported as any other.
    /// - *The last line* may have no newline: it is complete at the end of the stream, which is an event of a
    ///   connection, or ``finish()``.
    /// - *Costs:* each byte is looked at once. A line within one chunk is a slice of that chunk; the bytes of another
    ///   one are copied. At most ``maximalLength`` bytes, and one more, are kept between two calls.
    ///
    /// It is a value, for one thread at a time: keep it in a class of the main actor, in an actor, or in a
    /// ``LoopBound``.
    ///
    /// CF: none. SwiftNIO: `LineBasedFrameDecoder`; Tokio: `LinesCodec::new_with_max_length`; asyncio: the limit of
    /// `StreamReader`.
    public struct LineSplitter: Sendable {
        /// A line, or that there was one which is too long.
        public enum Line: Equatable, Sendable {
            /// A line without its end. It may share its storage with the whole chunk: copy it, to keep it for long.
            case line(_ bytes: ArraySlice<UInt8>)

            /// A line is longer than ``Loop/LineSplitter/maximalLength``.
            case tooLong

            /// The line as text, with U+FFFD in place of what is no UTF-8. Nil if the line is too long.
            public var text: String? {
                switch self {
                case .line(let bytes): String(decoding: bytes, as: UTF8.self)
                case .tooLong: nil
                }
            }
        }

        /// The largest number of bytes in a line, without its end.
        public let maximalLength: Int

        /// Whether a carriage return right before a newline belongs to the line's end.
        public let removesCarriageReturns: Bool

        /// What has come of the current line.
        private var rest: [UInt8] = []

        /// Whether the current line was reported as too long.
        private var isSkipping = false

        /// Makes a splitter at the beginning of a line.
        ///
        /// - Parameters:
        ///   - maximalLength: The largest number of bytes in a line, without its end. By default that of asyncio, 64
        ///     KiB. A negative one counts as 0.
        ///   - removesCarriageReturns: Whether a carriage return right before a newline belongs to the line's end, as
        ///     in many protocols of the network. If false, it belongs to the line. Any other one does, too.
        public init(maximalLength: Int = 65_536, removesCarriageReturns: Bool = true) {
            self.maximalLength = max(0, maximalLength)
            self.removesCarriageReturns = removesCarriageReturns
        }

        /// Adds bytes, and returns the lines that they complete, in order.
        public mutating func add(_ bytes: [UInt8]) -> [Line] { add(bytes[...]) }

        /// Adds bytes, and returns the lines that they complete, in order.
        public mutating func add(_ bytes: ArraySlice<UInt8>) -> [Line] {
            var lines: [Line] = []
            var bytes = bytes
            while let offset = bytes.withUnsafeBytes({ System.offset(of: UInt8(ascii: "\n"), in: $0) }) {
                let end = bytes.startIndex + offset
                if let line = takeLine(endingWith: bytes[..<end]) { lines.append(line) }
                bytes = bytes[(end + 1)...]
            }
            if !isSkipping, !keep(bytes) { lines.append(.tooLong) }
            return lines
        }

        /// Adds what a connection has reported, and returns the lines that it completes, in order.
        ///
        /// The end of the stream, ``Loop/Connection/Event/peerFinished``, completes the last line, as ``finish()``
        /// does. Other events complete none: a peer whose connection fails in the middle of a line has not sent it. At
        /// an end of the program's own, ``finish()`` returns what has come of the line.
        public mutating func add(_ event: Connection.Event) -> [Line] {
            switch event {
            case .received(let bytes): add(bytes)
            case .peerFinished: finish().map { [$0] } ?? []
            case .connected, .drained, .closed: []
            }
        }

        /// Ends the stream, and returns the last line, if no newline has ended it. A carriage return stays in it.
        ///
        /// - Returns: Nil if the last line has ended, or was reported as too long. The splitter is at the beginning of
        ///   a line then.
        public mutating func finish() -> Line? {
            defer { (rest, isSkipping) = ([], false) }
            return rest.isEmpty ? nil : rest.count > maximalLength ? .tooLong : .line(rest[...])
        }

        /// Ends the stream, and returns how many bytes the last line had, if no newline has ended it.
        mutating func dropRest() -> Int {
            defer { (rest, isSkipping) = ([], false) }
            return rest.count
        }

        /// The current line, whose last bytes these are; nil if it was reported.
        private mutating func takeLine(endingWith bytes: ArraySlice<UInt8>) -> Line? {
            defer { (rest, isSkipping) = ([], false) }
            if isSkipping { return nil }
            // Before they are copied: they may be many.
            guard !isTooLong(rest.count + bytes.count, lastByte: bytes.last ?? rest.last) else { return .tooLong }
            var line = bytes
            if !rest.isEmpty {
                rest += bytes
                line = rest[...]
            }
            if removesCarriageReturns, line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            return .line(line)
        }

        /// Keeps the beginning of a line. Returns false if it is too long, once.
        private mutating func keep(_ bytes: ArraySlice<UInt8>) -> Bool {
            guard !bytes.isEmpty else { return true }
            guard !isTooLong(rest.count + bytes.count, lastByte: bytes.last) else {
                (rest, isSkipping) = ([], true)
                return false
            }
            rest += bytes
            return true
        }

        /// Whether a line of so many bytes is too long. The last one may belong to its end.
        private func isTooLong(_ count: Int, lastByte: UInt8?) -> Bool {
            let mayEnd = removesCarriageReturns && lastByte == UInt8(ascii: "\r")
            return count - (mayEnd ? 1 : 0) > maximalLength
        }
    }
}
