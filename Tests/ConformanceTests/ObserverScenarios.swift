import ConformanceSupport

extension Scenario {
    /// Observers.
    static let observers: [Scenario] = [
        Scenario("order, then the order of adding") { s in
            s.loop.add(s.port("p"), "default")
            for (label, order) in [("a", 5), ("b", 0), ("c", 5), ("d", -5), ("e", 0)] {
                s.loop.add(s.observer(label, .entry, order: order), "default")
            }
            s.run()
        },
        Scenario("each is called for the activities it asks for") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("a", [.entry, .exit]), "default")
            s.loop.add(s.observer("b", [.beforeTimers, .afterWaiting]), "default")
            s.loop.add(s.observer("c", [.beforeSources, .beforeWaiting]), "default")
            s.loop.add(s.observer("none", []), "default")
            s.loop.add(s.observer("unknown", Activity(rawValue: 8 | 16)), "default")
            s.run("default", s.moment)
        },
        Scenario("a once-observer is called once and invalid after its callout") { s in
            let o = s.observer("o", repeats: false) { item, _ in s.log("inside: \(item.isValid)") }
            s.loop.add(s.port("p"), "default")
            s.loop.add(o, "default")
            s.run()
            s.log("after: \(o.isValid) \(s.loop.contains(o, "default"))")
            s.run()
        },
        Scenario("added during a callout: first called at the next activity") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(
                s.observer("a", .beforeTimers, repeats: false) { _, _ in s.loop.add(s.observer("b"), "default") },
                "default")
            s.run()
        },
        Scenario("removed during a callout: still called at this activity") { s in
            let b = s.observer("b", order: 1)
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("a", .beforeTimers) { _, _ in s.loop.remove(b, "default") }, "default")
            s.loop.add(b, "default")
            s.run()
        },
        Scenario("invalidated during a callout: not called any more") { s in
            let b = s.observer("b", order: 1)
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("a", .beforeTimers) { _, _ in b.invalidate() }, "default")
            s.loop.add(b, "default")
            s.run()
        },
        Scenario("an observer that invalidates itself") { s in
            var times = 0
            s.loop.add(s.port("p"), "default")
            s.loop.add(
                s.observer("o") { item, _ in
                    times += 1
                    if times == 3 { item.invalidate() }
                }, "default")
            s.run("default", s.moment)
            s.run()
        },
        Scenario("an observer is not re-entered by a nested run, others are called") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("a", .beforeTimers) { _, _ in s.run() }, "default")
            s.loop.add(s.observer("b", .beforeTimers, order: 1), "default")
            s.run()
        },
        Scenario("an entry observer adds what makes the run useful") { s in
            s.loop.add(s.port("p"), "default")
            let a = s.source0("a")
            s.loop.add(
                s.observer("o", .entry) { _, _ in
                    s.loop.add(a, "default")
                    a.signal()
                }, "default")
            s.run()
        },
        Scenario("work from a beforeWaiting observer: a signal without a wake-up waits") { s in
            let a = s.source0("a")
            s.observe("default")
            s.loop.add(a, "default")
            s.loop.add(s.observer("o", .beforeWaiting, repeats: false) { _, _ in a.signal() }, "default")
            s.run("default", s.moment)
            s.run()
        },
        Scenario("a port sent to by a beforeWaiting observer is served at once") { s in
            let p = s.port("p")
            s.observe("default")
            s.loop.add(p, "default")
            s.loop.add(s.observer("o", .beforeWaiting, repeats: false) { _, _ in p.send() }, "default")
            s.run("default", s.moment)
        },
        Scenario("one observer in two modes") { s in
            let o = s.observer("o", [.entry, .exit])
            for mode in ["default", "other"] {
                s.loop.add(s.port("p"), mode)
                s.loop.add(o, mode)
                s.loop.add(o, mode)
            }
            s.run()
            s.run("other")
            s.loop.remove(o, "default")
            s.run()
            s.run("other")
        },
    ]
}
