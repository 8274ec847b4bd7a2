import RunLoopKit

/// A source for the socket that listens, and one for each connection.
enum KitEcho {
    private nonisolated(unsafe) static var threads: [LoopThread] = []

    static func start(_ listening: Int32) throws {
        let thread = try LoopThread(name: "echo")
        threads.append(thread)
        try thread.performAndWait {
            let source = try Loop.FileDescriptorSource(owning: listening) { _, _ in
                while let connection = EchoSocket.accept(listening) { serve(connection) }
            }
            Loop.current.add(source)
        }
    }

    private static func serve(_ connection: Int32) {
        let source = try! Loop.FileDescriptorSource(owning: connection) { source, _ in
            if !EchoSocket.echo(connection) { source.invalidate() }
        }
        Loop.current.add(source)
    }
}
