import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The samples of a scenario, and what was wrong.
struct Outcome {
    let name: ScenarioName
    let share: Double
    let samples: [Sample]
    let faults: [String]
}

/// Plays a scenario on a thread of its own, posts to its loop meanwhile, and takes a sample after each window.
struct Recorder {
    let windows: Int
    let leak: Leak?

    /// How many posts are measured in a window at least, and what is kept of them at most.
    private static let probes = 20...20_000

    func record(_ name: ScenarioName, share: Double) -> Outcome {
        let scenario = name.make(share, windows: windows)
        let driver = try! LoopThread(name: "driver")
        let start = Loop.Instant.now
        var samples: [Sample] = []
        samples.reserveCapacity(windows)
        var latencies: [Int64] = []
        latencies.reserveCapacity(Self.probes.upperBound)
        for window in 0..<windows {
            probe(scenario.probed, &latencies, until: play(scenario, window, on: driver))
            leak?.happen()
            let seconds = Double((Loop.Instant.now.nanoseconds - start.nanoseconds) / 1_000_000) / 1_000
            samples.append(Sample(seconds: seconds, Sample.Latency(&latencies)))
        }
        let faults = try! driver.performAndWait { scenario.finish() }
        driver.stop()
        driver.join()
        return Outcome(name: name, share: share, samples: samples, faults: faults + Growth.faults(samples))
    }

    private final class Flag: Sendable {
        let isUp = Atomic<Bool>(false)
    }

    private func play(_ scenario: any Scenario, _ window: Int, on driver: LoopThread) -> Flag {
        let isOver = Flag()
        driver.perform {
            scenario.play(window, of: windows)
            isOver.isUp.store(true, ordering: .releasing)
        }
        return isOver
    }

    private func probe(_ loop: LoopThread, _ latencies: inout [Int64], until flag: Flag) {
        latencies.removeAll(keepingCapacity: true)
        while !flag.isUp.load(ordering: .acquiring) || latencies.count < Self.probes.lowerBound {
            let posted = Loop.Instant.now.nanoseconds
            let called = try! loop.performAndWait { Loop.Instant.now.nanoseconds }
            if latencies.count < Self.probes.upperBound { latencies.append(called - posted) }
            // A probe is no load.
            usleep(200)
        }
    }
}
