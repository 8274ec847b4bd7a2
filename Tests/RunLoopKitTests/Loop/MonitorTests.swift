import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RunLoopKit

/// What diagnostics are told by, and when they are told nothing any more.
@Suite(.timeBound) struct MonitorTests {
    /// Stays in its first callback until it is told to leave.
    private final class Slow: LoopMonitor {
        let (isInside, mayLeave) = (Flag(), Flag())

        func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {
            isInside.set()
            while !mayLeave.isSet { sched_yield() }
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)
        var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
        func set() { value.store(true, ordering: .sequentiallyConsistent) }
    }

    @Test("A monitor is detached when its callback has returned, and not before")
    func detaching() throws {
        let (watched, other) = (try LoopThread(name: "watched"), try LoopThread(name: "other"))
        let (monitor, isDetached) = (Slow(), Flag())
        watched.loop.attach(monitor)
        watched.perform {}
        while !monitor.isInside.isSet { sched_yield() }
        other.perform {
            watched.loop.detach(monitor)
            isDetached.set()
        }
        // Time enough for a thread that does not wait.
        for _ in 0..<500 { sched_yield() }
        #expect(!isDetached.isSet)
        monitor.mayLeave.set()
        other.stop()
        other.join()
        #expect(isDetached.isSet)
        watched.stop()
        watched.join()
    }
}
