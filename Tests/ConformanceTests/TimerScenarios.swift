import ConformanceSupport

extension Scenario {
    /// Timers. RunLoopKit plays them in virtual time, CFRunLoop in real time: no scenario depends on their lateness.
    static let timers: [Scenario] = [
        Scenario("a once-timer fires once and is invalid after its callout") { s in
            let t = s.timer("t", after: s.moment) { s.log("inside: \($0.isValid)") }
            s.observe("default")
            s.loop.add(t, "default")
            s.run("default", forever)
            s.log("after: \(t.isValid) \(s.loop.contains(t, "default"))")
        },
        Scenario("a timer that is not added does nothing") { s in
            let t = s.timer("t", after: 0)
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
            s.log("\(t.isValid)")
        },
        Scenario("overdue timers fire in one pass, in the order in which they were made") { s in
            let items = (0..<4).map { s.timer("\($0)", after: -1) }
            s.observe("default")
            for index in [2, 0, 3, 1] { s.loop.add(items[index], "default") }
            s.run("default", forever)
        },
        Scenario("timers fire in the order of their times") { s in
            let times = [3.0, 1.0, 2.0]
            for time in times { s.loop.add(s.timer("\(time)", after: time * s.moment), "default") }
            s.run("default", forever)
        },
        Scenario("a repeating timer invalidates itself") { s in
            var times = 0
            let t = s.timer("t", after: s.moment, every: s.moment) {
                times += 1
                if times == 3 { $0.invalidate() }
            }
            s.loop.add(t, "default")
            s.run("default", forever)
            s.log("\(times)")
        },
        Scenario("a slow callout: missed instants are skipped, the grid stays") { s in
            var times = 0
            let t = s.timer("t", after: 0, every: 10) {
                times += 1
                // Between its second and third instant.
                s.loop.spend(0.0001)
                if times == 2 { $0.invalidate() } else { $0.secondsToFire = -1 }
                s.log("next in the future: \($0.secondsToFire > 1)")
            }
            s.loop.add(t, "default")
            s.run("default", s.moment)
            s.log("next on the grid: \(t.secondsToFire > 9.5 && t.secondsToFire < 10)")
        },
        Scenario("missed instants: the next fire time is in the future and on the grid") { s in
            let t = s.timer("t", after: s.moment / 2, every: 2.5 * s.moment) { _ in
                s.loop.spend(6 * s.moment)
                s.loop.stop()
            }
            s.loop.add(t, "default")
            s.run("default", forever)
            s.log("ahead: \(t.secondsToFire > -s.moment && t.secondsToFire <= 2.5 * s.moment)")
        },
        Scenario("two due timers: the first invalidates the second") { s in
            let b = s.timer("b", after: 0)
            s.loop.spend(0.0001)
            let a = s.timer("a", after: -1) { _ in b.invalidate() }
            b.secondsToFire = -1
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
        },
        Scenario("two due timers: the first removes the second") { s in
            let b = s.timer("b", after: 1)
            let a = s.timer("a", after: -1) { _ in s.loop.remove(b, "default") }
            s.loop.spend(0.0001)
            b.secondsToFire = -1
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
            s.loop.add(b, "default")
            s.run("default", s.moment)
        },
        Scenario("two due timers: the first moves the second to another mode") { s in
            let b = s.timer("b", after: 1)
            let a = s.timer("a", after: -1) { _ in
                s.loop.remove(b, "default")
                s.loop.add(b, "other")
            }
            s.loop.spend(0.0001)
            b.secondsToFire = -1
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
        },
        Scenario("two due timers: the first re-times the second") { s in
            let b = s.timer("b", after: 1)
            let a = s.timer("a", after: -1) { _ in b.secondsToFire = 100 }
            s.loop.spend(0.0001)
            b.secondsToFire = -1
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            s.run("default", s.moment)
        },
        Scenario("re-timing inside the callout: later counts") { s in
            let t = s.timer("t", after: 0, every: s.moment) { $0.secondsToFire = 100 }
            s.loop.add(t, "default")
            s.run("default", 4 * s.moment)
            s.log("\(t.secondsToFire > 90)")
        },
        Scenario("re-timing inside the callout, after leaving the loop: counts") { s in
            var times = 0
            let t = s.timer("t", after: s.moment, every: 100) {
                times += 1
                guard times == 1 else { return }
                s.loop.remove($0, "default")
                $0.secondsToFire = 0
            }
            s.loop.add(t, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", 2 * s.moment)
            s.loop.add(t, "default")
            s.run("default", s.moment)
        },
        Scenario("re-timing a once-timer inside its callout: invalid all the same") { s in
            let t = s.timer("t", after: 0) { $0.secondsToFire = s.moment }
            s.loop.add(t, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", 4 * s.moment)
            s.log("\(t.isValid)")
        },
        Scenario("re-timing between runs") { s in
            let t = s.timer("t", after: 100, every: 100)
            s.loop.add(t, "default")
            s.run("default", s.moment)
            t.secondsToFire = 0
            s.run("default", s.moment)
            s.log("\(t.secondsToFire > 90)")
        },
        Scenario("re-timing an invalid timer does nothing") { s in
            let t = s.timer("t", after: 100)
            s.loop.add(t, "default")
            t.invalidate()
            t.secondsToFire = 0
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
            s.log("\(t.isValid)")
        },
        Scenario("a timer in two modes fires in whichever runs, once") { s in
            let t = s.timer("t", after: s.moment)
            s.loop.add(t, "default")
            s.loop.add(t, "other")
            s.loop.add(s.port("p"), "default")
            s.run("other", forever)
            s.run("default", s.moment)
            s.log("\(s.loop.contains(t, "default"))")
        },
        Scenario("a timer waits for its mode") { s in
            let t = s.timer("t", after: 0)
            s.loop.add(t, "other")
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
            s.run("other", forever)
        },
        Scenario("a firing timer is not re-entered by a nested run") { s in
            let t = s.timer("t", after: 0, every: s.moment / 4) { timer in
                s.loop.spend(s.moment)
                s.run("default", s.moment)
                timer.invalidate()
            }
            s.loop.add(t, "default")
            s.loop.add(s.port("p"), "default")
            s.run("default", 3 * s.moment)
        },
        Scenario("a nested run fires other timers") { s in
            let a = s.timer("a", after: -1) { _ in s.run("default", s.moment) }
            let b = s.timer("b", after: -1, every: 100)
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            s.run("default", 2 * s.moment)
        },
        Scenario("a timer added in a callout") { s in
            let a = s.timer("a", after: 0) { _ in
                let b = s.timer("b", after: -1)
                s.loop.add(b, "default")
            }
            s.observe("default")
            s.loop.add(a, "default")
            s.run("default", forever)
        },
        Scenario("negative intervals are once, and a timer cannot be added when invalid") { s in
            let t = s.timer("t", after: 0, every: -3)
            s.loop.add(t, "default")
            s.run("default", forever)
            s.loop.add(t, "default")
            s.log("\(t.isValid) \(s.loop.contains(t, "default"))")
        },
        Scenario("the next fire time of a mode") { s in
            func next(_ mode: String = "default") -> String {
                s.loop.secondsToNextTimer(in: mode).map { "\(($0 / 10).rounded())" } ?? "none"
            }
            s.log(next())
            s.log(next("nowhere"))
            let a = s.timer("a", after: 200)
            let b = s.timer("b", after: 100)
            s.loop.add(a, "default")
            s.log(next())
            s.loop.add(b, "default")
            s.log(next())
            s.log(next("other"))
            b.invalidate()
            s.log(next())
            a.secondsToFire = 50
            s.log(next())
        },
        Scenario("the next fire time inside a callout is the one being served") { s in
            let a = s.timer("a", after: 0, every: 100) { _ in
                s.log("\((s.loop.secondsToNextTimer(in: "default") ?? 99) <= 0)")
            }
            s.loop.add(a, "default")
            s.loop.add(s.timer("b", after: 50), "default")
            s.run("default", s.moment)
            s.log("\((s.loop.secondsToNextTimer(in: "default") ?? 0) > 40)")
        },
        Scenario("a timer that becomes due during a poll is served by it") { s in
            let t = s.timer("t", after: 0.0001)
            s.observe("default")
            s.loop.add(t, "default")
            s.loop.spend(0.001)
            s.run()
            s.run()
        },
        Scenario("huge and distant times do not fire") { s in
            s.loop.add(s.timer("far", after: 1e12, every: 1e12), "default")
            s.loop.add(s.timer("near", after: 0), "default")
            s.run("default", s.moment)
        },
        Scenario("a timer made for a time to come, which has passed when it is added, keeps its grid") { s in
            let m = s.moment
            let late = s.timer("late", after: 4 * m, every: 8 * m)
            let other = s.timer("other", after: 13 * m) { _ in s.loop.stop() }
            s.loop.spend(6 * m)
            s.loop.add(late, "default")
            s.loop.add(other, "default")
            s.run("default", forever)
        },
        Scenario("a timer made for a past time begins its grid when it is made, not when it is added") { s in
            let m = s.moment
            let late = s.timer("late", after: -3 * m, every: 8 * m)
            let other = s.timer("other", after: 9 * m) { _ in s.loop.stop() }
            s.loop.spend(6 * m)
            s.loop.add(late, "default")
            s.loop.add(other, "default")
            s.run("default", forever)
        },
    ]
}
