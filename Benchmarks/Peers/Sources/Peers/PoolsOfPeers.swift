import NIOPosix

/// SwiftNIO's pool for calls that block.
final class NIOPool: JobPool {
    let name = "SwiftNIO"
    private let pool = NIOThreadPool(numberOfThreads: poolSize)

    init() { pool.start() }

    func perform(_ job: @escaping @Sendable () -> Void) { pool.submit { _ in job() } }
}
