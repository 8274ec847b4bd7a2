#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Two connected descriptors of the program's own.
    struct Pair {
        let reader: Int32
        let writer: Int32

        private init(_ make: (UnsafeMutablePointer<Int32>) -> Int32) {
            var ends: [Int32] = [-1, -1]
            precondition(make(&ends) == 0)
            (reader, writer) = (ends[0], ends[1])
        }

        static func pipe() -> Pair { Pair { pipe2($0, O_CLOEXEC) } }
        static func sockets() -> Pair { Pair { socketpair(AF_UNIX, streamSocket, 0, $0) } }

        func close() { for end in [reader, writer] { closeDescriptor(end) } }
    }

    #if canImport(Glibc)
        private let streamSocket = Int32(SOCK_STREAM.rawValue)
    #else
        private let streamSocket = SOCK_STREAM
    #endif

    private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

    /// Hidden without _GNU_SOURCE.
    @_silgen_name("pipe2") func pipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

    /// Reads a byte in each call, and notes `readable`.
    func sourceOfBytes(
        _ descriptor: Int32, _ stage: Stage, trigger: Loop.FileDescriptorSource.Trigger = .level
    ) throws -> Loop.FileDescriptorSource {
        try Loop.FileDescriptorSource(descriptor, trigger: trigger) { source, _ in
            consumeByte(source.descriptor)
            stage.note("readable")
        }
    }

    func consumeByte(_ descriptor: Int32) {
        var byte: UInt8 = 0
        _ = read(descriptor, &byte, 1)
    }

    func writeByte(_ descriptor: Int32) { _ = write(descriptor, "x", 1) }

    extension Stage {
        func count(of what: String) -> Int { locked { countOf(what) } }

        /// What both sides of a connection do: one sends, the other answers and ends.
        func echo(_ connection: Loop.Connection, _ event: Loop.Connection.Event) {
            switch event {
            case .received(let bytes): connection.send(bytes)
            case .peerFinished: connection.end()
            case .closed(let error):
                if let error { fail(error) } else { note("closed") }
            case .connected, .drained: break
            }
        }

        func ask(_ connection: Loop.Connection, _ event: Loop.Connection.Event) {
            switch event {
            case .received:
                note("answered")
                connection.finishSending()
            case .closed(let error):
                if let error { fail(error) } else { note("closed") }
            case .connected: note("connected")
            case .peerFinished, .drained: break
            }
        }

        /// A server at an address, and a client of it, on the loop of a thread.
        func converse(at address: Loop.SocketAddress, _ thread: LoopThread) throws {
            let listener = track(
                try Loop.Listener(address) { [self] listener, connection in
                    _ = connection.setHandler { [self] in echo($0, $1) }
                    thread.loop.add(track(connection), in: .default)
                })
            defer { listener.invalidate() }
            thread.loop.add(listener, in: .default)
            guard let bound = listener.address else { return answer("a listener does not know its address") }
            let client = track(try Loop.Connection(connectingTo: bound) { [self] in ask($0, $1) })
            defer { client.invalidate() }
            thread.loop.add(client, in: .default)
            client.send([1, 2, 3])
            try wait(for: "connected")
            try wait(for: "answered")
            try wait(for: "closed", 2)
        }
    }

    let streamScenes: [Scene] = [
        Scene("tcp") { stage in
            try stage.withThread { try stage.converse(at: .tcp(.loopback, port: 0), $0) }
        },
        Scene("unix") { stage in
            try stage.withThread { try stage.converse(at: .unix("socket"), $0) }
        },
        Scene("unix, left behind") { stage in
            // The file of a listener that has crashed.
            let listener = try Loop.Listener(.unix("left"))
            rename("left", "kept")
            listener.invalidate()
            rename("kept", "left")
            try stage.withThread { try stage.converse(at: .unix("left"), $0) }
        },
        Scene("pipe connection") { stage in
            let pipe = Pair.pipe()
            var left = [pipe.reader, pipe.writer]
            defer { for end in left { close(end) } }
            try stage.withThread { thread in
                let reader = stage.track(
                    try Loop.Connection(owning: pipe.reader) { connection, event in
                        switch event {
                        case .received: stage.note("received")
                        case .peerFinished: connection.end()
                        case .closed(let error): if let error { stage.fail(error) } else { stage.note("read end") }
                        case .connected, .drained: break
                        }
                    })
                defer { reader.invalidate() }
                left.removeAll { $0 == pipe.reader }
                let writer = stage.track(
                    try Loop.Connection(owning: pipe.writer) { _, event in
                        if case .closed(let error?) = event { stage.fail(error) }
                    })
                defer { writer.invalidate() }
                left.removeAll { $0 == pipe.writer }
                for connection in [reader, writer] { thread.loop.add(connection, in: .default) }
                writer.send([1])
                try stage.wait(for: "received")
                writer.end()
                try stage.wait(for: "read end")
            }
        },
        Scene("end that reads first") { stage in
            let pair = Pair.sockets()
            var left = [pair.reader, pair.writer]
            defer { for end in left { close(end) } }
            try stage.withThread { thread in
                let connection = stage.track(
                    try Loop.Connection(owning: pair.reader) { connection, event in
                        switch event {
                        case .received:
                            connection.send([2])
                            stage.note("received")
                        case .closed(let error): if let error { stage.fail(error) } else { stage.note("end") }
                        case .connected, .drained, .peerFinished: break
                        }
                    })
                defer { connection.invalidate() }
                left.removeAll { $0 == pair.reader }
                connection.isReceiving = false
                thread.loop.add(connection, in: .default)
                var byte: UInt8 = 1
                write(pair.writer, &byte, 1)
                connection.end(within: .seconds(60), readingFirst: true)
                try stage.wait(for: "received")
                shutdown(pair.writer, Int32(SHUT_WR))
                try stage.wait(for: "end")
            }
        },
        Scene("end of a period") { stage in
            let pair = Pair.sockets()
            var left = [pair.reader, pair.writer]
            defer { for end in left { close(end) } }
            try stage.withThread { thread in
                let connection = stage.track(
                    try Loop.Connection(owning: pair.reader) { _, event in
                        switch event {
                        case .received: stage.note("received")
                        case .closed(let error?) where error.isOwnLimit: stage.note("end")
                        case .closed(let error): if let error { stage.fail(error) } else { stage.answer("no limit") }
                        case .connected, .drained, .peerFinished: break
                        }
                    })
                defer { connection.invalidate() }
                left.removeAll { $0 == pair.reader }
                writeByte(pair.writer)
                thread.loop.perform {
                    Loop.current.add(connection, in: .default)
                    connection.finishSending(within: .zero)
                }
                try stage.wait(for: "received")
                try stage.wait(for: "end")
            }
        },
        Scene("large send") { stage in
            // More than the kernel has room for.
            let pair = Pair.sockets()
            var left = [pair.reader, pair.writer]
            defer { for end in left { close(end) } }
            try stage.withThread { thread in
                let count = 1 << 20
                nonisolated(unsafe) var received = 0  // Changed on the thread of the loop.
                let reader = stage.track(
                    try Loop.Connection(owning: pair.reader) { connection, event in
                        switch event {
                        case .received(let bytes):
                            received += bytes.count
                            if received == count { stage.note("all") }
                        case .peerFinished: connection.end()
                        case .closed(let error?): stage.fail(error)
                        case .closed, .connected, .drained: break
                        }
                    })
                defer { reader.invalidate() }
                left.removeAll { $0 == pair.reader }
                let writer = stage.track(
                    try Loop.Connection(owning: pair.writer) { _, event in
                        switch event {
                        case .drained: stage.note("drained")
                        case .closed(let error?): stage.fail(error)
                        default: break
                        }
                    })
                defer { writer.invalidate() }
                left.removeAll { $0 == pair.writer }
                for connection in [reader, writer] { thread.loop.add(connection, in: .default) }
                writer.send([UInt8](repeating: 1, count: count))
                try stage.wait(for: "all")
                try stage.wait(for: "drained")
            }
        },
    ]
#endif
