import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Waits until nobody of a group lives but its leader.
private func waitForOthers(ofGroup group: Int32) {
    spin(until: !hasOthers(group))
}

private func hasOthers(_ group: Int32) -> Bool {
    guard case .living(let processFD) = System.member(ofGroup: group) else { return false }
    System.close(processFD)
    return true
}

/// A shell that leaves processes in its group, each of which ignores SIGTERM and ends when it reads a line.
private final class Family {
    let gate = Ends.blockingPipe()
    let talking: TalkingChild
    var child: Loop.ChildProcess { talking.child }

    /// - Parameter leader: What the leader does once all are ready.
    init(of count: Int, leader: String, handler: @escaping Loop.ChildProcess.Handler) throws {
        let other = "(trap '' TERM; echo ready; read line <&3) &"
        let script = "exec 3<&0; \(String(repeating: other, count: count)) \(leader)"
        talking = try TalkingChild("sh", ["-c", script], input: .descriptor(gate.reader), handler: handler)
        gate.closeReader()
        var text = ""
        while text.count < count * "ready\n".count { text += talking.output.take() ?? "" }
    }

    /// One of them ends.
    func letGo() { gate.send("\n") }
}

@Suite(.timeBound) struct ChildGroupTests {
    private typealias Child = Loop.ChildProcess
    private typealias Exit = Loop.ProcessSource.Exit

    @Test("The grace period ends when the last of the group has ended, after the leader", arguments: [1, 3])
    func lastOfGroup(_ count: Int) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: count, leader: "wait") { _, exit in log.add(exit) }
        loop.add(family.child)
        loop.add(family.child, in: "other")
        let start = clock.now
        #expect(family.child.end(within: .seconds(1000)))
        waitForEnd(of: family.child.process)
        for round in 1...count {
            #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
            #expect(isChild(family.child.process), "it keeps its number for the others")
            family.letGo()
            if round == count { waitForOthers(ofGroup: family.child.process) }
        }
        #expect(loop.run(mode: round(count), for: .seconds(1000)) == .finished)
        #expect(log.entries == [.signalled(SIGTERM, coreDumped: false)] && !isChild(family.child.process))
        #expect(clock.now == start + .seconds(count))
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished && clock.now == start + .seconds(count))
    }

    private func round(_ count: Int) -> Loop.Mode { count == 1 ? .default : "other" }

    /// Without an event, the loop would wait for ever: nobody moves its time.
    @Test("A shell and its command end together, in whatever order", arguments: 0..<20)
    func together(_ round: Int) throws {
        let loop = Loop(clock: VirtualClock(.manual))
        let talking = try TalkingChild(script: "sh -c 'echo ready; exec sleep 1000'; :") { _, _ in }
        loop.add(talking.child)
        talking.waitUntilReady()
        #expect(talking.child.end(within: .seconds(1000)))
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        #expect(talking.text == "" && !isChild(talking.child.process))
    }

    /// A thread notices its end, at any moment of the run.
    @Test("The period of an invalidated child ends with its group, too", arguments: 0..<20)
    func invalidated(_ round: Int) throws {
        let loop = Loop(clock: VirtualClock(.manual))
        let family = try Family(of: 1, leader: "wait") { _, _ in Issue.record("invalid") }
        loop.add(family.child)
        #expect(family.child.end(within: .seconds(1000)))
        family.child.invalidate()
        family.letGo()
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        spin(until: !isChild(family.child.process))
    }

    @Test("A child that other code has reaped has no grace period")
    func reapedElsewhere() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let child = try Child("sleep", ["1000"]) { _, _ in }
        loop.add(child)
        let start = clock.now
        #expect(child.end(within: .seconds(5)))
        reap(child.process)
        #expect(!child.signal(0))
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished && clock.now == start)
    }

    @Test("Without a descriptor it is unknown whether others are in the group")
    func noDescriptor() async {
        await #expect(processExitsWith: .success) {
            let talking = try TalkingChild(script: "sleep 1000 & echo ready; wait")
            talking.waitUntilReady()
            var limit = rlimit()
            (limit.rlim_max, limit.rlim_cur) = (64, 64)
            #if canImport(Glibc)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #else
                setrlimit(RLIMIT_NOFILE, &limit)
            #endif
            // One is left, to read `/proc` by. Another thread of the process may close one meanwhile.
            while true {
                var last: Int32 = -1
                while case let new = dup(0), new >= 0 { last = new }
                if last >= 0 { close(last) }
                switch System.member(ofGroup: talking.child.process) {
                case .living(let processFD): System.close(processFD)
                case .none: fatalError("there is one")
                case .unknown:
                    talking.child.signal(SIGKILL)
                    _exit(0)
                }
            }
        }
    }

    @Test("A second call ends the period of the others at once")
    func secondCall() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let family = try Family(of: 2, leader: "wait") { _, _ in }
        loop.add(family.child)
        #expect(family.child.end(within: .seconds(1000)))
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        let time = clock.now
        #expect(family.child.end(within: .zero))
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished && clock.now == time)
        #expect(family.talking.text == "" && !isChild(family.child.process))
    }

    @Test("The exit is reported when the group is gone, and a stop at that leaves nobody", arguments: [0, 1, 1000])
    func stopAtTheExit(_ seconds: Int64) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: 2, leader: "wait") { _, exit in
            log.add(exit)
            loop.stop()
        }
        loop.add(family.child)
        #expect(family.child.end(within: .seconds(seconds)))
        waitForEnd(of: family.child.process)
        if seconds == 1000 {
            for _ in 0..<2 { family.letGo() }
            waitForOthers(ofGroup: family.child.process)
        }
        #expect(loop.run(mode: .default, until: .distantFuture) == .stopped)
        let time = Loop.Instant(nanoseconds: 0).duration(to: clock.now)
        #expect(log.entries.count == 1 && time == .seconds(seconds == 1000 ? 0 : seconds))
        #expect(family.talking.text == "" && !isChild(family.child.process))
    }

    @Test("A child that waits for its group and leaves one of its modes learns of the group's end in the others")
    func leavesAMode() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: 1, leader: "wait") { _, exit in log.add(exit) }
        for mode in [Loop.Mode.default, "other"] { loop.add(family.child, in: mode) }
        #expect(family.child.end(within: .seconds(1000)))
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        loop.remove(family.child, in: "other")
        family.letGo()
        waitForOthers(ofGroup: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(2000)) == .finished && log.entries.count == 1)
        #expect(clock.now == Loop.Instant(nanoseconds: 0) + .seconds(1))
    }

    @Test("A child that other code has reaped does not wait for its group")
    func reapedBeforeItsGroup() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: 1, leader: "wait") { _, exit in log.add(exit) }
        loop.add(family.child)
        #expect(family.child.end(within: .seconds(1000)))
        reap(family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(2000)) == .finished)
        #expect(log.entries == [.unknown] && clock.now == Loop.Instant(nanoseconds: 0))
        family.letGo()
        #expect(family.talking.text == "")
    }

    @Test("A child that waits for its group moves to another loop, and reports its exit there")
    func movesMeanwhile() throws {
        let (loops, log) = ([Loop.inVirtualTime().0, Loop.inVirtualTime().0], Log<String>())
        let family = try Family(of: 1, leader: "wait") { _, exit in
            log.add(Loop.current === loops[1] ? "there" : "here")
        }
        loops[0].add(family.child)
        #expect(family.child.end(within: .seconds(1000)))
        waitForEnd(of: family.child.process)
        #expect(loops[0].run(mode: .default, for: .seconds(1)) == .timedOut)
        loops[0].remove(family.child)
        #expect(loops[0].run(mode: .default, for: .zero) == .finished)
        loops[1].add(family.child)
        family.letGo()
        waitForOthers(ofGroup: family.child.process)
        let start = loops[1].now
        #expect(loops[1].run(mode: .default, for: .seconds(2000)) == .finished && loops[1].now == start)
        #expect(log.entries == ["there"] && !isChild(family.child.process))
        loops[0].end()
    }

    @Test("Nothing of a group outlives a child that ends by itself, if that is asked for", arguments: [0, 7])
    func endOthers(_ seconds: Int64) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: 2, leader: "exit 3") { child, exit in
            #expect(!child.endOthers(within: .zero))
            log.add(exit)
        }
        #expect(family.child.endOthers(within: .seconds(99)) && family.child.endOthers(within: .seconds(seconds)))
        loop.add(family.child)
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        #expect(log.entries == [.exited(3)] && clock.now == Loop.Instant(nanoseconds: 0) + .seconds(seconds))
        #expect(family.talking.text == "" && !isChild(family.child.process))

        // Without others nothing happens.
        let alone = try Child("true") { _, exit in log.add(exit) }
        alone.endOthers(within: .seconds(7))
        loop.add(alone)
        waitForEnd(of: alone.process)
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished && log.entries.last == .exited(0))
        #expect(clock.now == Loop.Instant(nanoseconds: 0) + .seconds(seconds))
    }

    // MARK: A child that ends by itself

    @Test("Others go on after the child, which is reaped")
    func leftAlone() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let family = try Family(of: 1, leader: "exit 3") { child, exit in
            log.add("\(exit), \(isChild(child.process) ? "child" : "reaped")")
        }
        loop.add(family.child)
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == ["exited with 3, child"] && !isChild(family.child.process))
        #expect(hasOthers(family.child.process))
        #expect(!family.child.end(within: .zero) && !family.child.signal(0), "the number may be another process's")
        family.letGo()
        #expect(family.talking.text == "")
    }

    @Test("The handler may end the others: by SIGTERM", arguments: [false, true])
    func endedInHandler(_ isTwice: Bool) throws {
        let loop = Loop(clock: VirtualClock(.manual))
        let log = Log<String>()
        let talking = try TalkingChild(script: "sleep 1000 & exit 3") { child, exit in
            for _ in 0...(isTwice ? 1 : 0) { log.add("\(exit), \(child.end(within: .seconds(1000)))") }
        }
        loop.add(talking.child)
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        #expect(log.entries == Array(repeating: "exited with 3, true", count: isTwice ? 2 : 1))
        #expect(talking.text == "" && !isChild(talking.child.process))
    }

    @Test("The handler may end the others: by SIGKILL after the period, or at once", arguments: [5, 0])
    func killedInHandler(_ seconds: Int) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Exit>()
        let family = try Family(of: 2, leader: "exit 3") { child, exit in
            log.add(exit)
            child.end(within: .seconds(seconds))
        }
        loop.add(family.child)
        let start = clock.now
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1000)) == .finished)
        #expect(log.entries == [.exited(3)] && clock.now == start + .seconds(seconds))
        #expect(family.talking.text == "" && !isChild(family.child.process))
    }

    @Test("A loop that ends kills the others at once")
    func endedLoop() throws {
        let (loop, _) = Loop.inVirtualTime()
        let family = try Family(of: 1, leader: "exit 3") { child, _ in child.end(within: .seconds(1000)) }
        loop.add(family.child)
        waitForEnd(of: family.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(isChild(family.child.process))
        loop.end()
        #expect(family.talking.text == "" && !isChild(family.child.process))
    }

    @Test("The period counts in modes that become common after the child's end", arguments: [true, false])
    func laterCommonMode(_ endsByItself: Bool) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let family = try Family(of: 1, leader: endsByItself ? "exit 3" : "wait") { child, _ in
            child.end(within: .seconds(5))
        }
        loop.add(family.child, in: .common)
        if endsByItself {
            waitForEnd(of: family.child.process)
        } else {
            family.child.end(within: .seconds(5))
            family.child.invalidate()
        }
        let start = clock.now
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        loop.addCommonMode("later")
        #expect(loop.run(mode: "later", for: .seconds(1000)) == .finished)
        try #require(clock.now == start + .seconds(5))
        #expect(family.talking.text == "")
        spin(until: !isChild(family.child.process))
    }
}
