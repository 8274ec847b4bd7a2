import ConformanceSupport

extension Scenario {
    /// Runs, their results, stopping, waking, nesting.
    static let running: [Scenario] = [
        Scenario("an unknown mode and an empty mode finish at once, without observers") { s in
            s.run("nowhere")
            s.run()
            s.observe("default")
            s.run("default", forever)
        },
        Scenario("observers alone keep nothing alive") { s in
            s.loop.add(s.observer("o"), "default")
            s.run("default", forever)
            s.log("\(s.loop.modes.sorted())")
        },
        Scenario("nothing runs in common") { s in
            s.loop.add(s.port("p"), "common")
            s.observe("default")
            s.run("common", forever)
            s.run("common", 0)
        },
        Scenario("a zero timeout makes one pass that does not wait") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.run()
            s.run()
        },
        Scenario("a negative timeout is like zero") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.run("default", -5)
        },
        Scenario("a zero timeout serves a ready port, still timed out") { s in
            let port = s.port("p")
            s.observe("default")
            s.loop.add(port, "default")
            port.send()
            s.run()
            s.run()
        },
        Scenario("with a zero timeout timedOut comes before stopped and finished") { s in
            let source = s.source0("a") { s.loop.stop() }
            s.loop.add(source, "default")
            source.signal()
            s.run()
            source.invalidate()
            s.block("b")
            s.run()
        },
        Scenario("a run with a time limit sleeps, wakes and times out") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.run("default", s.moment)
        },
        Scenario("a run whose mode is emptied by its last timer finishes") { s in
            s.observe("default")
            s.loop.add(s.timer("t", after: 0), "default")
            s.run("default", forever)
        },
        Scenario("stop with no active run is ignored") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.stop()
            s.run("default", s.moment)
        },
        Scenario("stop takes effect at the end of the pass") { s in
            let source = s.source0("a") { s.loop.stop() }
            let other = s.source0("b", order: 1)
            s.observe("default")
            s.loop.add(source, "default")
            s.loop.add(other, "default")
            source.signal()
            other.signal()
            s.block("later", in: "default") { s.block("last") }
            s.run("default", forever)
        },
        Scenario("stop in an entry observer: no pass at all") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("o") { _, activity in if activity == .entry { s.loop.stop() } }, "default")
            s.run("default", forever)
        },
        Scenario("stop in a beforeWaiting observer wakes the wait that follows") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("o") { _, activity in if activity == .beforeWaiting { s.loop.stop() } }, "default")
            s.run("default", forever)
        },
        Scenario("a stop inside an exit observer is forgotten with its run") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("o", .exit) { _, _ in s.loop.stop() }, "default")
            s.run()
            s.run("default", s.moment)
        },
        Scenario("a stop overtaken by handledSource is forgotten with its run") { s in
            let source = s.source0("a") { s.loop.stop() }
            s.loop.add(source, "default")
            source.signal()
            s.run("default", forever, returnAfterSourceHandled: true)
            s.run("default", s.moment)
        },
        Scenario("stop concerns the innermost run only") { s in
            let outer = s.source0("outer") {
                s.loop.stop()
                let inner = s.source0("inner") { s.loop.stop() }
                s.loop.add(inner, "other")
                inner.signal()
                s.run("other", forever)
                s.log("back in \(s.loop.currentMode ?? "none")")
            }
            s.observe("default", "other")
            s.loop.add(outer, "default")
            outer.signal()
            s.run("default", forever)
        },
        Scenario("a stop of a nested run does not stop the outer one") { s in
            let outer = s.source0("outer") {
                s.block("stop", in: "other") { s.loop.stop() }
                s.loop.add(s.port("keep"), "other")
                s.run("other", forever)
            }
            s.loop.add(outer, "default")
            outer.signal()
            s.run("default", s.moment)
        },
        Scenario("a nested run in the same mode") { s in
            let inner = s.source0("inner")
            let outer = s.source0("outer") {
                inner.signal()
                s.run()
            }
            s.observe("default")
            s.loop.add(outer, "default")
            s.loop.add(inner, "default")
            outer.signal()
            s.run()
        },
        Scenario("three runs deep, and the mode at each depth") { s in
            s.loop.add(s.port("p"), "a")
            s.loop.add(s.port("p"), "b")
            s.loop.add(s.port("p"), "c")
            s.observe("a", "b", "c")
            s.block("1", in: "a") {
                s.block("2", in: "b") {
                    s.block("3", in: "c") { s.log("in \(s.loop.currentMode ?? "none")") }
                    s.run("c")
                    s.log("in \(s.loop.currentMode ?? "none")")
                }
                s.run("b")
                s.log("in \(s.loop.currentMode ?? "none")")
            }
            s.run("a")
            s.log("in \(s.loop.currentMode ?? "none")")
        },
        Scenario("a nested run that finds nothing finishes inside the callout") { s in
            let source = s.source0("a") { s.run("other", forever) }
            s.loop.add(source, "default")
            source.signal()
            s.run()
        },
        Scenario("returnAfterSourceHandled: the first signalled source only, then a poll") { s in
            let a = s.source0("a", order: 2)
            let b = s.source0("b", order: 1)
            let port = s.port("p")
            s.observe("default")
            for item in [a, b, port] { s.loop.add(item, "default") }
            a.signal()
            b.signal()
            port.send()
            s.run("default", forever, returnAfterSourceHandled: true)
            s.run("default", forever, returnAfterSourceHandled: true)
        },
        Scenario("returnAfterSourceHandled: a port counts, timers and blocks do not") { s in
            let port = s.port("p")
            s.observe("default")
            s.loop.add(port, "default")
            s.block("b")
            s.loop.add(s.timer("t", after: s.moment) { _ in port.send() }, "default")
            s.run("default", forever, returnAfterSourceHandled: true)
        },
        Scenario("wakeUp without an active run is dropped") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.loop.wakeUp()
            s.run("default", s.moment)
        },
        Scenario("wakeUp before the wait is remembered: one extra pass") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.block("b") { s.loop.wakeUp() }
            s.run("default", s.moment)
        },
        Scenario("wakeUp in a beforeWaiting observer: the loop does not sleep") { s in
            var times = 0
            s.loop.add(s.port("p"), "default")
            s.loop.add(
                s.observer("o") { _, activity in
                    guard activity == .beforeWaiting else { return }
                    times += 1
                    if times < 3 { s.loop.wakeUp() } else { s.loop.stop() }
                }, "default")
            s.run("default", forever)
        },
        Scenario("wakeUp after the wait is dropped") { s in
            let port = s.port("p") { s.loop.wakeUp() }
            s.observe("default")
            s.loop.add(port, "default")
            port.send()
            s.run("default", s.moment)
        },
        Scenario("wakeUp in an entry observer") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("o") { _, activity in if activity == .entry { s.loop.wakeUp() } }, "default")
            s.run("default", s.moment)
        },
        Scenario("the loop is not waiting in its callouts") { s in
            let port = s.port("p") { s.log("waiting: \(s.loop.isWaiting)") }
            s.loop.add(port, "default")
            s.loop.add(s.observer("o") { _, _ in s.log("waiting: \(s.loop.isWaiting)") }, "default")
            port.send()
            s.run("default", s.moment)
        },
        Scenario("a mode emptied before the wait runs its pass to the end and sleeps until its deadline") { s in
            let port = s.port("p")
            s.observe("default")
            s.loop.add(port, "default")
            s.block("remove it") { s.loop.remove(port, "default") }
            s.run("default", s.moment)
        },
    ]
}
