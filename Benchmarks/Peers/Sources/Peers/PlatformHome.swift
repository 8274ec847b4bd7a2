#if PLATFORM_EXECUTORS
    import Foundation
    import PlatformExecutors

    /// A thread of swift-platform-executors for actors, and one for tasks. Both live until the process ends.
    struct PlatformHome: Home {
        static let maker: PeerHome = ("swift-platform-executors", { PlatformHome() })

        private let serial = PThreadSerialExecutor(name: "home")
        private let tasks: any TaskExecutor

        var executor: UnownedSerialExecutor? { serial.asUnownedSerialExecutor() }
        var taskExecutor: (any TaskExecutor)? { tasks }

        init() {
            final class Result: @unchecked Sendable { var executor: (any TaskExecutor)! }
            let (result, isReady) = (Result(), DispatchSemaphore(value: 0))
            Task.detached {
                // The executor lives as long as the body runs.
                await PThreadTaskExecutor.withExecutor(name: "home", poolSize: 1) { executor in
                    result.executor = executor
                    isReady.signal()
                    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
                }
            }
            isReady.wait()
            tasks = result.executor
        }
    }
#endif
