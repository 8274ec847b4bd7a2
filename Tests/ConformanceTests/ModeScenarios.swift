import ConformanceSupport

extension Scenario {
    /// Modes and the common set.
    static let modes: [Scenario] = [
        Scenario("the modes of a loop") { s in
            s.log("\(s.loop.modes.sorted()) \(s.loop.currentMode ?? "none")")
            s.loop.add(s.port("p"), "a")
            s.loop.add(s.observer("o"), "b")
            s.loop.add(s.timer("t", after: 1), "c")
            s.run("asked for")
            _ = s.loop.contains(s.port("p"), "also")
            s.log("\(s.loop.modes.sorted())")
        },
        Scenario("an item in common is in default") { s in
            let a = s.source0("a", logsModes: true)
            s.loop.add(a, "common")
            s.log("\(s.loop.contains(a, "common")) \(s.loop.contains(a, "default")) \(s.loop.contains(a, "other"))")
            a.signal()
            s.run()
        },
        Scenario("an item in common follows modes that join later") { s in
            let a = s.source0("a", logsModes: true)
            let o = s.observer("o", .entry)
            let t = s.timer("t", after: 0, every: 100)
            for item in [a, o, t] { s.loop.add(item, "common") }
            s.log("\(s.loop.modes.sorted())")
            s.loop.addCommonMode("late")
            s.log("\(s.loop.modes.sorted())")
            for item in [a, o, t] { s.log("\(s.loop.contains(item, "late"))") }
            a.signal()
            s.run("late", s.moment)
        },
        Scenario("addCommonMode only names the mode") { s in
            s.loop.addCommonMode("named")
            s.log("\(s.loop.modes.sorted())")
            s.run("named")
            let a = s.source0("a")
            s.loop.add(a, "common")
            s.log("\(s.loop.modes.sorted()) \(s.loop.contains(a, "named"))")
        },
        Scenario("adding a common mode twice, and common itself") { s in
            let a = s.source0("a", logsModes: true)
            s.loop.add(a, "common")
            s.loop.addCommonMode("late")
            s.loop.addCommonMode("late")
            s.loop.addCommonMode("default")
            s.log("\(s.loop.modes.sorted())")
        },
        Scenario("removed from common: leaves default as well, also if it was added there by name") { s in
            let a = s.source0("a", logsModes: true)
            s.loop.add(a, "default")
            s.loop.add(a, "common")
            s.loop.remove(a, "common")
            s.log("\(s.loop.contains(a, "common")) \(s.loop.contains(a, "default"))")
            s.loop.add(a, "default")
            s.loop.remove(a, "common")
            s.log("\(s.loop.contains(a, "common")) \(s.loop.contains(a, "default"))")
        },
        Scenario("removed from one mode: stays in common, and in the others") { s in
            let a = s.source0("a")
            s.loop.addCommonMode("late")
            s.loop.add(a, "common")
            s.loop.remove(a, "default")
            for mode in ["common", "default", "late"] { s.log("\(s.loop.contains(a, mode))") }
            s.loop.addCommonMode("later still")
            s.log("\(s.loop.contains(a, "later still")) \(s.loop.contains(a, "default"))")
        },
        Scenario("invalidation leaves every mode and common") { s in
            let a = s.source0("a")
            let o = s.observer("o")
            let t = s.timer("t", after: 10)
            s.loop.addCommonMode("late")
            for item in [a, o, t] {
                s.loop.add(item, "common")
                s.loop.add(item, "own")
                item.invalidate()
                for mode in ["common", "default", "late", "own"] { s.log("\(s.loop.contains(item, mode))") }
                s.loop.add(item, "own")
                s.log("\(s.loop.contains(item, "own"))")
            }
        },
        Scenario("a mode joins the common set while it runs") { s in
            let a = s.source0("a")
            s.loop.add(a, "common")
            s.loop.add(s.port("p"), "other")
            s.observe("other")
            s.block("join", in: "other") {
                s.loop.addCommonMode("other")
                a.signal()
            }
            s.run("other", s.moment)
        },
        Scenario("what is in another mode does not happen") { s in
            let p = s.port("p")
            let a = s.source0("a")
            s.loop.add(p, "other")
            s.loop.add(a, "other")
            s.loop.add(s.timer("t", after: 0), "other")
            s.loop.add(s.observer("o"), "other")
            s.loop.add(s.port("keep"), "default")
            p.send()
            a.signal()
            s.run("default", s.moment)
            s.run("other", s.moment)
        },
        Scenario("invalidating everything in a callout finishes the run") { s in
            let p = s.port("p")
            var a: (any Item)!
            a = s.source0("a") {
                p.invalidate()
                a.invalidate()
            }
            s.observe("default")
            s.loop.add(p, "default")
            s.loop.add(a, "default")
            a.signal()
            s.run("default", forever)
            s.log("\(s.loop.contains(a, "default"))")
        },
        Scenario("an item in common only through one mode keeps that mode going") { s in
            s.loop.addCommonMode("late")
            let p = s.port("p")
            s.loop.add(p, "common")
            s.loop.remove(p, "default")
            s.run("default", forever)
            p.send()
            s.run("late", s.moment)
        },
    ]
}
