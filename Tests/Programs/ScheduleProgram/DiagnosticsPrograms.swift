#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopDiagnostics
    @testable import RunLoopKit

    /// What watches a loop, while several threads want it to.
    let diagnosticsPrograms: [Program] = [
        Program("a stall monitor: a loop is watched, and is not any more") { play in
            play.watches { watcher, loop in [{ _ = watcher.watch(loop, name: "loop") }, { watcher.unwatch(loop) }] }
        },
        Program("a stall monitor: two threads watch a loop") { play in
            play.watches { watcher, loop in
                (0..<2).map { number in { _ = watcher.watch(loop, name: "loop \(number)") } }
            }
        },
    ]

    extension StallRules {
        static var forPlays: StallRules {
            StallRules(thresholds: [100], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil })
        }
    }

    extension Play {
        /// A loop has a recorder while it is watched, and only then.
        fileprivate func watches(
            _ acts: @escaping @Sendable (StallWatcher, Loop) -> [@Sendable () -> Void]
        ) {
            thread { [self] in
                let loop = Loop.current
                let watcher = StallWatcher(.forPlays, now: { 0 }) { _ in }
                let threads = acts(watcher, loop).map { act in start { act() } }
                for thread in threads { System.join(thread) }
                let isWatched = watcher.metrics(of: loop) != nil
                let hasRecorder = loop.isMonitored.load(ordering: .relaxed)
                require(isWatched == hasRecorder, "It is watched: \(isWatched). It has a recorder: \(hasRecorder).")
                watcher.unwatch(loop)
                require(!loop.isMonitored.load(ordering: .relaxed), "A recorder is left.")
            }
        }
    }
#endif
