import ConformanceSupport
import RunLoopKit
import TestSupport
import Testing

/// The deliberate differences of `docs/differences.md` that show in a trace: what CFRunLoop does, and what RunLoopKit
/// does instead. The reference loop does what RunLoopKit does.
///
/// CFRunLoop plays in real time, so it gets longer moments before a test fails.
@Suite(.timeBound) struct DifferencesTests {
    private func expect(
        cf: [String], kit: [String], _ location: SourceLocation = #_sourceLocation,
        _ play: @escaping @Sendable (Stage) -> Void
    ) {
        let scenario = Scenario("", play)
        #expect(Stage.trace(of: scenario, moment: 0.02) { KitSubject() } == kit, sourceLocation: location)
        #expect(Stage.trace(of: scenario, moment: 0.02) { ReferenceSubject() } == kit, sourceLocation: location)
        var trace: [String] = []
        for moment in [0.02, 0.1, 0.5, 2] {
            trace = Stage.trace(of: scenario, moment: moment) { CFSubject() }
            if trace == cf { return }
        }
        #expect(trace == cf, sourceLocation: location)
    }

    @Test("A nested run does not swallow the outer run's wake-up")
    func nestedRunKeepsOuterWakeUp() {
        expect(
            cf: ["run in other: timedOut", "timer t", "block b", "run in default: stopped"],
            kit: ["run in other: timedOut", "block b", "run in default: stopped"]
        ) { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.port("p"), "other")
            s.loop.add(s.timer("t", after: 4 * s.moment), "default")
            // Posted for the outer mode, with a wake-up, while the nested run is in progress.
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in
                    s.block("b") { s.loop.stop() }
                    s.loop.wakeUp()
                }, "other")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in s.run("other", s.moment) },
                "default")
            s.run("default", forever)
        }
    }

    @Test("After a nested run that was woken, the outer run finds what arrives without a wake-up")
    func workAfterNestedRun() {
        expect(
            cf: ["run in other: timedOut", "timer t", "block b", "run in default: stopped"],
            kit: ["run in other: timedOut", "block b", "run in default: stopped"]
        ) { s in
            for mode in ["default", "other"] { s.loop.add(s.port("p"), mode) }
            s.loop.add(s.timer("t", after: 4 * s.moment), "default")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in s.loop.wakeUp() }, "other")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in
                    s.run("other", s.moment)
                    s.block("b") { s.loop.stop() }
                }, "default")
            s.run("default", forever)
        }
    }

    @Test("A timer whose handler runs the loop costs the nested run no pass")
    func timerThatIsBeingCalled() {
        let pass = ["other beforeTimers", "other beforeSources", "other beforeWaiting", "other afterWaiting"]
        let (before, after) = (["timer t", "other entry"], ["other exit", "run in other: timedOut"])
        let end = ["run in default: stopped"]
        expect(
            cf: before + pass + pass + after + end, kit: before + pass + after + end
        ) { s in
            s.observe("other")
            s.loop.add(s.port("p"), "other")
            let t = s.timer("t", after: s.moment, every: 2 * s.moment) { _ in
                s.run("other", 3 * s.moment)
                s.loop.stop()
            }
            s.loop.add(t, "default")
            s.loop.add(t, "other")
            s.run("default", forever)
        }
    }

    @Test("A timerfd whose timer has left costs no pass")
    func timerfdOfRemovedTimer() {
        let pass = ["default beforeTimers", "default beforeSources", "default beforeWaiting", "default afterWaiting"]
        expect(
            cf: ["default entry"] + pass + pass + ["default exit", "run in default: timedOut"],
            kit: ["default entry"] + pass + ["default exit", "run in default: timedOut"]
        ) { s in
            let t = s.timer("t", after: s.moment)
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.loop.add(t, "default")
            s.loop.remove(t, "default")
            s.run("default", 3 * s.moment)
        }
    }

    @Test("A timer that joins a mode and is re-timed in its own callout fires in that mode")
    func timerRetimedForAnotherMode() {
        expect(
            cf: ["timer t", "run in a: timedOut", "run in default: timedOut"],
            kit: ["timer t", "run in a: timedOut", "timer t", "run in default: timedOut"]
        ) { s in
            s.loop.add(
                s.timer("t", after: 0, every: forever) { timer in
                    s.loop.add(timer, "default")
                    timer.secondsToFire = 0
                }, "a")
            // Later than the time being served, or the new time is ignored.
            s.loop.spend(s.moment)
            s.run("a")
            s.loop.spend(s.moment)
            s.run("default")
        }
    }

    @Test("A poll nested in an afterWaiting observer fires the timer that is due")
    func nestedPollFiresDueTimer() {
        expect(
            cf: ["run in default: timedOut", "timer t", "run in default: timedOut"],
            kit: ["timer t", "run in default: timedOut", "run in default: timedOut"]
        ) { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.timer("t", after: s.moment), "default")
            s.loop.add(s.loop.makeObserver(.afterWaiting, repeats: false, order: 0) { _, _ in s.run() }, "default")
            s.run("default", 3 * s.moment)
        }
    }

    @Test("Any handled source counts, not only the last one")
    func anyHandledSourceCounts() {
        // The second source is no longer signalled when its turn comes: CF forgets that the first one was handled.
        let passes = ["default beforeTimers", "default beforeSources"]
        let sleep = ["default beforeWaiting", "default afterWaiting"]
        expect(
            cf: ["default entry"] + passes + ["source0 a"] + sleep + ["default exit", "run in default: timedOut"],
            kit: ["default entry"] + passes + ["source0 a"] + passes + sleep + [
                "default exit", "run in default: timedOut",
            ]
        ) { s in
            let b = s.source0("b", order: 1)
            let a = s.source0("a") { b.invalidate() }
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            for source in [a, b] {
                s.loop.add(source, "default")
                source.signal()
            }
            s.run("default", s.moment)
        }
    }

    @Test("A wake-up queues behind ports")
    func wakeUpQueuesBehindPorts() {
        let pass = ["default beforeTimers", "default beforeSources"]
        expect(
            cf: ["default entry"] + pass
                + ["default beforeWaiting", "default afterWaiting", "default exit", "run in default: stopped"],
            kit: ["default entry"] + pass
                + [
                    "default beforeWaiting", "default afterWaiting", "port p", "default exit",
                    "run in default: stopped",
                ]
        ) { s in
            let p = s.port("p")
            s.observe("default")
            s.loop.add(p, "default")
            s.loop.perform(in: ["default"]) {
                s.loop.stop()
                p.send()
            }
            s.run("default", forever)
        }
    }

    @Test("A port served in one mode and sent to again queues anew in another mode")
    func servedPortQueuesAnew() {
        expect(
            cf: [
                "run in other: timedOut", "port p", "run in default: timedOut", "port p", "port q",
                "run in other: timedOut", "run in other: timedOut",
            ],
            kit: [
                "run in other: timedOut", "port p", "run in default: timedOut", "port q", "port p",
                "run in other: timedOut", "run in other: timedOut",
            ]
        ) { s in
            let p = s.port("p")
            let q = s.port("q")
            for mode in ["default", "other"] { s.loop.add(p, mode) }
            s.loop.add(q, "other")
            s.run("other", s.moment)
            p.send()
            s.run("default", s.moment)
            q.send()
            p.send()
            s.run("other", s.moment)
            s.run("other", s.moment)
        }
    }

    @Test("A port removed after it woke the loop keeps its sends")
    func removedPortKeepsSends() {
        expect(
            cf: ["run in default: timedOut", "run in default: timedOut"],
            kit: ["run in default: timedOut", "port p", "run in default: timedOut"]
        ) { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(s.port("keep"), "default")
            s.loop.add(
                s.loop.makeObserver(.afterWaiting, repeats: false, order: 0) { _, _ in s.loop.remove(p, "default") },
                "default")
            p.send()
            s.run("default", s.moment)
            s.loop.add(p, "default")
            s.run("default", s.moment)
        }
    }

    @Test("The next run ignores a wake-up that no wait served")
    func unservedWakeUpIsForgotten() {
        let pass = ["default beforeTimers", "default beforeSources", "default beforeWaiting", "default afterWaiting"]
        expect(
            cf: ["port p", "run in default: handledSource", "default entry"] + pass + pass
                + ["default exit", "run in default: timedOut"],
            kit: ["port p", "run in default: handledSource", "default entry"] + pass
                + ["default exit", "run in default: timedOut"]
        ) { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            p.send()
            s.loop.perform(in: ["default"]) { s.loop.wakeUp() }
            s.run("default", s.moment, returnAfterSourceHandled: true)
            s.observe("default")
            s.run("default", s.moment)
        }
    }

    /// A nested run takes the first stop's wake-up: as of any wake-up, it makes a pass.
    @Test("A second stop of a stopped run wakes nothing")
    func secondStop() {
        let end = ["run in default: stopped"]
        expect(
            cf: ["pass", "pass", "run in other: timedOut", "pass", "pass", "run in other: timedOut"] + end,
            kit: ["pass", "pass", "run in other: timedOut", "pass", "run in other: timedOut"] + end
        ) { s in
            for mode in ["default", "other"] { s.loop.add(s.port("p"), mode) }
            s.loop.add(s.loop.makeObserver(.beforeTimers, repeats: true, order: 0) { _, _ in s.log("pass") }, "other")
            s.loop.perform(in: ["default"]) {
                for _ in 0..<2 {
                    s.loop.stop()
                    s.run("other", s.moment)
                }
                // CFRunLoop's nested runs have taken the wake-ups of both stops.
                s.loop.stop()
            }
            s.run("default", forever)
        }
    }

    @Test("Adding a source whose signal wakes, and is pending, wakes the loop")
    func addingSignalledSource() {
        expect(
            cf: ["timer t", "source0 s", "run in default: timedOut"],
            kit: ["source0 s", "timer t", "run in default: timedOut"]
        ) { s in
            let source = s.source0("s")
            source.signalAndWake()
            s.loop.add(s.timer("t", after: s.moment), "default")
            s.loop.add(s.port("p"), "default")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in s.loop.add(source, "default") },
                "default")
            s.run("default", 2 * s.moment)
        }
    }

    @Test("A silently signalled source waits when another thread re-times a timer")
    func silentSignalAndRetiming() {
        expect(
            cf: ["source0 s", "timer t", "run in default: timedOut"],
            kit: ["timer t", "source0 s", "run in default: timedOut"]
        ) { s in
            let (source, timer) = (s.source0("s"), s.timer("t", after: 1e5))
            s.loop.add(source, "default")
            s.loop.add(timer, "default")
            s.loop.add(s.port("p"), "default")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in
                    s.onOtherThread {
                        source.signal()
                        timer.secondsToFire = s.moment
                    }
                }, "default")
            s.run("default", 2 * s.moment)
        }
    }

    @Test("The tracking mode becomes common by addCommonMode, not by itself")
    func trackingMode() {
        // The toolchain's CFRunLoop has no such mode: elsewhere AppKit and UIKit declare theirs common.
        let trace = ["tracking: false", "tracking: true"]
        expect(cf: trace, kit: trace) { s in
            let timer = s.timer("t", after: 1e5)
            s.loop.add(timer, "common")
            s.log("tracking: \(s.loop.contains(timer, Loop.Mode.tracking.name))")
            s.loop.addCommonMode(Loop.Mode.tracking.name)
            s.log("tracking: \(s.loop.contains(timer, Loop.Mode.tracking.name))")
        }
    }

    @Test("Membership in common outlasts removal from single modes")
    func membershipInCommon() {
        expect(
            cf: ["timer left: false", "timer invalid: false", "source left: true", "source invalid: true"],
            kit: ["timer left: true", "timer invalid: false", "source left: true", "source invalid: false"]
        ) { s in
            for (name, item) in [("timer", s.timer("t", after: 1e5)), ("source", s.source0("s"))] {
                s.loop.add(item, "common")
                s.loop.remove(item, "default")
                s.log("\(name) left: \(s.loop.contains(item, "common"))")
                item.invalidate()
                s.log("\(name) invalid: \(s.loop.contains(item, "common"))")
            }
        }
    }

    @Test("A port added again in an afterWaiting observer is served a pass later")
    func portReaddedAfterWaiting() {
        expect(
            cf: ["pass", "port p", "pass", "run in default: timedOut"],
            kit: ["pass", "pass", "port p", "pass", "run in default: timedOut"]
        ) { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(s.loop.makeObserver(.beforeTimers, repeats: true, order: 0) { _, _ in s.log("pass") }, "default")
            s.loop.add(
                s.loop.makeObserver(.afterWaiting, repeats: false, order: 0) { _, _ in
                    s.loop.remove(p, "default")
                    s.loop.add(p, "default")
                }, "default")
            p.send()
            s.run("default", s.moment)
        }
    }

    @Test("An outer run's time limit does not wake the inner run")
    func outerTimeLimit() {
        expect(
            cf: ["pass", "pass", "run in other: timedOut"], kit: ["pass", "run in other: timedOut"]
        ) { s in
            for mode in ["default", "other"] { s.loop.add(s.port("p"), mode) }
            s.loop.add(s.loop.makeObserver(.beforeTimers, repeats: true, order: 0) { _, _ in s.log("pass") }, "other")
            s.loop.perform(in: ["default"]) {
                s.run("other", 3 * s.moment)
                // CFRunLoop's outer run would sleep for ever.
                s.loop.stop()
            }
            _ = s.loop.run("default", seconds: s.moment, returnAfterSourceHandled: false)
        }
    }
}
