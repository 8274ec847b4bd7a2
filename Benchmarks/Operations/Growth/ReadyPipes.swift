import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension GrowingOperation {
    static let readyPipes = GrowingOperation(
        "ready-pipes", "One of so many pipes that are ready at once: a byte is written, and a handler reads it.",
        sizes: [10, 100], count: 2_000
    ) { loop, size in
        let pipes = try (0..<size).map { _ in try BytePipe() }
        let left = Left(size)
        let sources = try pipes.map { pipe in
            try Loop.FileDescriptorSource(owning: dup(pipe.output)) { _, _ in
                pipe.receive()
                left.count -= 1
                if left.count == 0 { loop.stop() }
            }
        }
        for source in sources { loop.add(source) }
        return { count in
            for _ in 0..<count / size {
                left.count = size
                for pipe in pipes { pipe.send() }
                loop.run()
            }
        }
    }
}

/// How many handlers have not been called. Accessed on the loop's thread only.
private final class Left: @unchecked Sendable {
    var count: Int
    init(_ count: Int) { self.count = count }
}
