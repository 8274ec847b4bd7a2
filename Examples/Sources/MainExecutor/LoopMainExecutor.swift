@_spi(ExperimentalCustomExecutors) import _Concurrency
import RunLoopKit

// EXPERIMENTAL. This rests on an interface that the toolchain does not document yet (`@_spi`), seen to work with Swift
// 6.3.1; a later one may rename or remove it. Without it, use `Loop.runMain { … }`, which needs nothing of the kind.

/// The main loop as the main actor's executor: an unchanged `static func main() async` runs on it.
final class LoopMainExecutor: MainExecutor {
    static let shared = LoopMainExecutor()

    var isMainExecutor: Bool { true }

    /// Swift calls it on the initial thread, at the first suspension of `main`. It need not return: Swift ends the
    /// process when `main` does.
    func run() { while true { Loop.main.run() } }

    func stop() { Loop.main.stop() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Loop.main.perform(in: .common) { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { precondition(Loop.main.isOnOwnThread, "not on the main actor's thread") }
}

private struct Executors: ExecutorFactory {
    static var mainExecutor: any MainExecutor { LoopMainExecutor.shared }
    static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
}

/// The loader calls what is in this section before `main`, and so before Swift chooses the executors by itself.
@section(".init_array") @used
private let installExecutors: @convention(c) () -> Void = { _createExecutors(factory: Executors.self) }
