import ConformanceSupport

extension Scenario {
    /// Posted blocks.
    static let blocks: [Scenario] = [
        Scenario("blocks run in order, and keep a mode going that has nothing else") { s in
            s.observe("default")
            s.block("1")
            s.block("2")
            s.block("3")
            s.run()
            s.run()
        },
        Scenario("a mode that holds only a block sleeps until its deadline") { s in
            s.observe("default")
            s.block("1")
            s.run("default", s.moment)
        },
        Scenario("blocks that queue blocks: not in the same drain") { s in
            s.observe("default")
            s.loop.add(s.port("p"), "default")
            s.block("1") { s.block("1.1") { s.block("1.1.1") } }
            s.block("2")
            s.run()
            s.run()
        },
        Scenario("blocks queued by a source run before the wait") { s in
            let source = s.source0("a") { s.block("b") }
            s.observe("default")
            s.loop.add(source, "default")
            source.signal()
            s.run("default", s.moment)
        },
        Scenario("blocks for another mode wait for it") { s in
            s.block("here")
            s.block("there", in: "other")
            s.block("here too")
            s.run()
            s.run("other")
        },
        Scenario("blocks for several modes run once, in the first") { s in
            s.block("both", in: "default", "other")
            s.block("other", in: "other")
            s.run()
            s.run("other")
            s.run()
        },
        Scenario("blocks for common run in any common mode, also one that joined later") { s in
            s.block("c", in: "common")
            s.loop.add(s.port("p"), "other")
            s.run("other")
            s.loop.addCommonMode("other")
            s.run("other")
            s.run()
        },
        Scenario("blocks of the drain that is going on are invisible to a nested run") { s in
            s.loop.add(s.port("p"), "other")
            s.loop.add(s.port("p"), "default")
            s.block("1") {
                s.run("other")
                s.block("new", in: "other")
                s.run("other")
            }
            s.block("for other", in: "other")
            s.block("2")
            s.run()
            s.run("other")
        },
        Scenario("blocks left over go before blocks posted meanwhile") { s in
            s.loop.add(s.port("p"), "other")
            s.block("1") { s.block("late", in: "other") }
            s.block("early", in: "other")
            s.run()
            s.run("other")
        },
        Scenario("a block posted in an exit observer stays queued") { s in
            s.loop.add(s.port("p"), "default")
            s.loop.add(s.observer("o", .exit, repeats: false) { _, _ in s.block("left") }, "default")
            s.run()
            s.run()
        },
        Scenario("a block is noticed only when something else makes a pass") { s in
            s.observe("default")
            s.loop.add(
                s.observer("o", .beforeWaiting, repeats: false) { _, _ in s.block("posted before waiting") }, "default")
            s.loop.add(s.timer("t", after: s.moment), "default")
            s.run("default", 3 * s.moment)
        },
        Scenario("blocks make their modes exist") { s in
            s.block("b", in: "fresh")
            s.block("c", in: "these", "those")
            s.log("\(s.loop.modes.sorted())")
        },
        Scenario("a block that stops the run: the pass is finished first") { s in
            let source = s.source0("a")
            s.observe("default")
            s.loop.add(source, "default")
            source.signal()
            s.block("stop") { s.loop.stop() }
            s.block("2")
            s.run("default", forever)
        },
    ]
}
