import ConformanceSupport

/// The main queue's effects on a loop. Leftover jobs are drained before the next scenario.
let scenarios: [Scenario] = [
    Scenario("an empty default mode is kept going by the queue, another mode is not") { s in
        s.observe("default")
        s.run("default", s.moment)
        s.run("other", forever)
    },
    Scenario("jobs are drained in one go, after a wait that does not wait") { s in
        s.observe("default")
        queue(s, "1")
        queue(s, "2")
        s.run("default", s.moment)
    },
    Scenario("a drained queue is a handled source") { s in
        queue(s, "1")
        s.run("default", forever, returnAfterSourceHandled: true)
    },
    Scenario("a job posted by a job; blocks in between") { s in
        s.observe("default")
        queue(s, "1") {
            s.block("b")
            queue(s, "2")
        }
        s.run("default", s.moment)
    },
    Scenario("a job posted by a block: drained before the loop thinks of sleeping, from the second pass on") { s in
        s.observe("default")
        let source = s.source0("a")
        s.loop.add(source, "default")
        source.signal()
        s.block("b") { queue(s, "1") }
        s.run("default", s.moment)
        source.invalidate()
    },
    Scenario("a job that a source posts comes before the next source") { s in
        let ports = [
            s.port("1") { queue(s, "a") }, s.port("2"),
            s.port("3") {
                queue(s, "b")
                queue(s, "c")
            },
            s.port("4"), s.port("5"),
        ]
        for port in ports { s.loop.add(port, "default") }
        for port in ports { port.send() }
        s.run("default", s.moment)
        for port in ports { port.invalidate() }
    },
    Scenario("a job that a source posts waits for a common mode") { s in
        let ports = [s.port("1") { queue(s, "a") }, s.port("2"), s.port("3")]
        for port in ports { s.loop.add(port, "other") }
        for port in ports { port.send() }
        s.run("other", s.moment)
        s.run("default", s.moment)
        for port in ports { port.invalidate() }
    },
    Scenario("the queue waits for a common mode") { s in
        let port = s.port("p")
        s.loop.add(port, "other")
        queue(s, "1")
        s.run("other", s.moment)
        s.run("default", s.moment)
        port.invalidate()
    },
    Scenario("a mode that becomes common after it ran") { s in
        let port = s.port("p")
        s.loop.add(port, "joining")
        s.run("joining")
        queue(s, "1")
        s.run("joining", s.moment)
        s.loop.addCommonMode("joining")
        s.run("joining", s.moment)
        port.invalidate()
    },
    Scenario("a nested run inside a job does not re-enter the queue") { s in
        let port = s.port("p")
        s.loop.add(port, "default")
        queue(s, "1") {
            queue(s, "2")
            s.run("default", s.moment)
            s.log("nested run over")
        }
        s.run("default", 3 * s.moment)
        port.invalidate()
    },
    Scenario("a nested run inside a job finds nothing to wait for but the queue, and finishes") { s in
        queue(s, "1") { s.run("default", forever) }
        s.run("default", s.moment)
    },
    Scenario("a nested run inside a block drains the queue") { s in
        s.block("b") {
            queue(s, "1")
            s.run("default", s.moment)
            s.log("nested run over")
        }
        s.run("default", 2 * s.moment)
    },
    Scenario("jobs that post jobs do not keep timers waiting") { s in
        var jobs = 0
        func again() {
            jobs += 1
            if jobs < 100_000 { queueQuietly { again() } }
        }
        let timer = s.timer("t", after: s.moment) { _ in jobs = 100_000 }
        s.loop.add(timer, "default")
        queueQuietly { again() }
        s.run("default", 4 * s.moment)
    },
    Scenario("stop in a job") { s in
        s.observe("default")
        queue(s, "1") { s.loop.stop() }
        queue(s, "2")
        s.run("default", forever)
    },
    Scenario("a port and the queue ready at once") { s in
        let port = s.port("p")
        s.observe("default")
        s.loop.add(port, "default")
        port.send()
        queue(s, "1")
        s.run("default", s.moment)
        port.invalidate()
    },
]
