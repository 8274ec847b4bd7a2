import ConformanceSupport

extension Scenario {
    /// Version-0 and version-1 sources.
    static let sources: [Scenario] = [
        Scenario("signalled sources go by order, then by time of signal") { s in
            let items = [("a", 1), ("b", 0), ("c", 1), ("d", -1), ("e", 0)].map { s.source0($0.0, order: $0.1) }
            for item in items { s.loop.add(item, "default") }
            for index in [4, 2, 0, 1, 3] {
                items[index].signal()
                s.loop.spend(0.0001)
            }
            s.run()
        },
        Scenario("signalling again before the pass: one call, at the earlier place") { s in
            let a = s.source0("a")
            let b = s.source0("b")
            s.loop.add(a, "default")
            s.loop.add(b, "default")
            a.signal()
            s.loop.spend(0.0001)
            b.signal()
            s.loop.spend(0.0001)
            a.signal()
            s.run()
            s.run()
        },
        Scenario("a block posted by a source runs before the port of the same pass") { s in
            let port = s.port("p")
            let source = s.source0("a") {
                s.block("b")
                port.send()
            }
            s.loop.add(source, "default")
            s.loop.add(port, "default")
            source.signal()
            s.run()
        },
        Scenario("a source that signals itself is performed once a pass") { s in
            var times = 0
            var source: (any Item)!
            source = s.source0("a") {
                times += 1
                if times < 3 { source.signal() } else { s.loop.stop() }
            }
            s.observe("default")
            s.loop.add(source, "default")
            source.signal()
            s.run("default", forever)
        },
        Scenario("a source signalled before it is added") { s in
            let source = s.source0("a")
            source.signal()
            s.loop.add(source, "default")
            s.run()
        },
        Scenario("a source invalidated by another's callout is skipped") { s in
            let b = s.source0("b", order: 1)
            let a = s.source0("a") { b.invalidate() }
            for item in [a, b] {
                s.loop.add(item, "default")
                item.signal()
            }
            s.run()
            s.log("\(b.isValid) \(s.loop.contains(b, "default"))")
        },
        Scenario("a source removed by another's callout is still performed") { s in
            let b = s.source0("b", order: 1)
            let a = s.source0("a") { s.loop.remove(b, "default") }
            for item in [a, b] {
                s.loop.add(item, "default")
                item.signal()
            }
            s.run()
            s.log("\(b.isValid) \(s.loop.contains(b, "default"))")
        },
        Scenario("a source invalidated in three modes leaves each of them once") { s in
            for isCommon in [false, true] {
                // CF notifies the modes of one source in no particular order.
                var joined: [String] = []
                var left: [String] = []
                var source: (any Item)!
                source = s.loop.makeSource0(
                    order: 0, schedule: { joined.append($0) }, cancel: { left.append($0) },
                    perform: {
                        source.invalidate()
                        s.log("inside, left \(left.sorted())")
                    })
                if isCommon {
                    for mode in ["a", "b"] { s.loop.addCommonMode(mode) }
                    s.loop.add(source, "common")
                } else {
                    for mode in ["default", "a", "b"] { s.loop.add(source, mode) }
                }
                source.signal()
                s.run()
                s.log("joined \(joined.sorted()), left \(left.sorted())")
                for mode in ["default", "a", "b"] { s.log("in \(mode): \(s.loop.contains(source, mode))") }
                // Its callout retains it.
                source = nil
            }
        },
        Scenario("a source invalidated in its own callout") { s in
            var a: (any Item)!
            a = s.source0("a", logsModes: true) {
                a.invalidate()
                s.log("valid: \(a.isValid)")
                a.signal()
            }
            s.observe("default")
            s.loop.add(a, "default")
            a.signal()
            s.run("default", s.moment)
            s.run()
        },
        Scenario("a signal in one mode waits for it while another runs") { s in
            let a = s.source0("a")
            s.loop.add(a, "other")
            s.loop.add(s.port("p"), "default")
            a.signal()
            s.run()
            s.run("other")
        },
        Scenario("a source in two modes is performed once, by the first that looks") { s in
            let a = s.source0("a")
            s.loop.add(a, "default")
            s.loop.add(a, "other")
            a.signal()
            s.run("other")
            s.run()
        },
        Scenario("a source signalled inside a nested run of another mode waits for the outer pass") { s in
            let a = s.source0("a", order: 5)
            s.loop.add(a, "default")
            s.loop.add(s.port("p"), "other")
            let b = s.source0("b") {
                a.signal()
                s.run("other")
            }
            s.observe("default", "other")
            s.loop.add(b, "default")
            b.signal()
            s.run()
            s.run()
        },
        Scenario("of two signalled sources, the second is performed by a run nested in the first") { s in
            let a = s.source0("a") {
                s.run("default", s.moment)
                s.log("a ends")
            }
            let b = s.source0("b", order: 1)
            for source in [a, b] {
                s.loop.add(source, "default")
                source.signal()
            }
            s.run("default", 4 * s.moment)
        },
        Scenario("the same, nested until a source is handled") { s in
            let a = s.source0("a") { s.run("default", forever, returnAfterSourceHandled: true) }
            let b = s.source0("b", order: 1)
            let c = s.source0("c", order: 2)
            for source in [a, b, c] {
                s.loop.add(source, "default")
                source.signal()
            }
            s.run("default", forever, returnAfterSourceHandled: true)
            s.run("default", s.moment)
        },
        Scenario("schedule and cancel callouts: joining and leaving modes") { s in
            let a = s.source0("a", logsModes: true)
            s.loop.add(a, "default")
            s.loop.add(a, "default")
            s.loop.add(a, "other")
            s.loop.remove(a, "default")
            s.loop.remove(a, "default")
            s.loop.remove(a, "nowhere")
            a.invalidate()
            a.invalidate()
            s.loop.add(a, "default")
            s.log("\(s.loop.contains(a, "default")) \(a.isValid)")
        },
        Scenario("a source added in a callout is seen by the next pass") { s in
            let b = s.source0("b")
            let a = s.source0("a") {
                s.loop.add(b, "default")
                b.signal()
            }
            s.observe("default")
            s.loop.add(a, "default")
            a.signal()
            s.run()
            s.run()
        },
        Scenario("a port wakes the loop") { s in
            let p = s.port("p") { s.loop.stop() }
            s.observe("default")
            s.loop.add(p, "default")
            s.loop.add(s.timer("t", after: s.moment) { _ in p.send() }, "default")
            s.run("default", forever)
        },
        Scenario("sends before the callout are one callout") { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            p.send()
            p.send()
            p.send()
            s.run("default", s.moment)
        },
        Scenario("two ports ready at once: one each pass, in the order in which they became ready") { s in
            let p = s.port("p")
            let q = s.port("q")
            s.observe("default")
            s.loop.add(p, "default")
            s.loop.add(q, "default")
            q.send()
            p.send()
            s.run("default", s.moment)
        },
        Scenario("six ports ready at once, a poll each") { s in
            let ports = (0..<6).map { s.port("\($0)") }
            s.observe("default")
            for port in ports { s.loop.add(port, "default") }
            for index in [3, 1, 5, 0, 4, 2] { ports[index].send() }
            for _ in 0..<3 { s.run() }
            s.run("default", s.moment)
        },
        Scenario("a port that sends to itself does not starve another") { s in
            var times = 0
            var p: (any Item)!
            p = s.port("p") {
                times += 1
                if times < 4 { p.send() }
            }
            let q = s.port("q")
            s.loop.add(p, "default")
            s.loop.add(q, "default")
            p.send()
            q.send()
            s.run("default", s.moment)
        },
        Scenario("a port in two modes: one send, one callout") { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(p, "other")
            s.observe("default", "other")
            p.send()
            s.run("default", s.moment)
            s.run("other", s.moment)
        },
        Scenario("the unserved rest of two ready ports is served by the next run") { s in
            let p = s.port("p") { s.loop.stop() }
            let q = s.port("q")
            s.loop.add(p, "default")
            s.loop.add(q, "default")
            p.send()
            q.send()
            s.run("default", forever)
            s.run("default", s.moment)
        },
        Scenario("a port removed while ready, and added again") { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(s.port("keep"), "default")
            s.run()
            p.send()
            s.loop.remove(p, "default")
            s.run()
            s.loop.add(p, "default")
            s.run()
            s.run()
        },
        Scenario("a served port, added again, is not served twice") { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(s.port("keep"), "default")
            p.send()
            s.run()
            s.loop.remove(p, "default")
            s.loop.add(p, "default")
            s.run()
        },
        Scenario("a served port, added to another mode, lines up at its next send") { s in
            let p = s.port("p")
            let q = s.port("q")
            s.loop.add(p, "default")
            p.send()
            s.run()
            s.loop.add(p, "other")
            s.loop.add(q, "other")
            q.send()
            p.send()
            s.run("other", s.moment)
            s.run("other", s.moment)
        },
        Scenario("of two ready ports one invalidates the other") { s in
            var q: (any Item)!
            let p = s.port("p") { q.invalidate() }
            q = s.port("q") { p.invalidate() }
            s.observe("default")
            for item in [p, q!] {
                s.loop.add(item, "default")
                item.send()
            }
            s.loop.add(s.port("keep"), "default")
            s.run("default", s.moment)
        },
        Scenario("an afterWaiting observer takes away the port that woke the loop") { s in
            let p = s.port("p")
            s.loop.add(p, "default")
            s.loop.add(s.port("keep"), "default")
            s.loop.add(s.observer("o", .afterWaiting) { _, _ in s.loop.remove(p, "default") }, "default")
            p.send()
            s.run("default", s.moment)
        },
        Scenario("a run nested in an afterWaiting observer leaves the port that woke the loop to the outer run") { s in
            s.loop.add(s.port("p") { s.loop.stop() }, "default")
            let q = s.port("q")
            s.loop.add(q, "default")
            s.loop.add(
                s.loop.makeObserver(.beforeWaiting, repeats: false, order: 0) { _, _ in q.send() }, "default")
            s.loop.add(
                s.observer("o", .afterWaiting, repeats: false) { _, _ in s.run("default", s.moment) }, "default")
            s.run("default", 3 * s.moment)
        },
        Scenario("ports of a nested run in another mode are left to the outer one") { s in
            let p = s.port("p")
            let q = s.port("q")
            let a = s.source0("a") {
                p.send()
                q.send()
                s.run("other", s.moment)
            }
            s.loop.add(p, "default")
            s.loop.add(q, "other")
            s.loop.add(a, "default")
            a.signal()
            s.run("default", s.moment)
        },
        Scenario("a source and a port: the source makes the pass poll") { s in
            let p = s.port("p")
            let a = s.source0("a")
            s.observe("default")
            for item in [p, a] { s.loop.add(item, "default") }
            p.send()
            a.signal()
            s.run("default", s.moment)
        },
    ]
}
