import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension GrowingOperation {
    static let readyPipes = readyPipes(
        "ready-pipes", "One of so many pipes that are ready at once: a byte is written, and a handler reads it."
    ) { pipe, handler in
        try Loop.FileDescriptorSource(owning: dup(pipe.output), handler: handler)
    }

    static let readyLentPipes = readyPipes(
        "ready-lent-pipes", "The same with pipes that the sources do not own, and that do not block."
    ) { pipe, handler in
        _ = fcntl(pipe.output, F_SETFL, O_NONBLOCK)
        return try Loop.FileDescriptorSource(pipe.output, handler: handler)
    }

    private static func readyPipes(
        _ name: String, _ summary: String,
        _ makeSource:
            @escaping @Sendable (BytePipe, @escaping Loop.FileDescriptorSource.Handler) throws ->
            Loop.FileDescriptorSource
    ) -> GrowingOperation {
        GrowingOperation(name, summary, sizes: [10, 100], count: 2_000) { loop, size in
            let pipes = try (0..<size).map { _ in try BytePipe() }
            let left = Left(size)
            for pipe in pipes {
                let source = try makeSource(pipe) { _, _ in
                    pipe.receive()
                    left.count -= 1
                    if left.count == 0 { loop.stop() }
                }
                loop.add(source)
            }
            return { count in
                for _ in 0..<count / size {
                    left.count = size
                    for pipe in pipes { pipe.send() }
                    loop.run()
                }
            }
        }
    }
}

/// How many handlers have not been called. Accessed on the loop's thread only.
private final class Left: @unchecked Sendable {
    var count: Int
    init(_ count: Int) { self.count = count }
}
