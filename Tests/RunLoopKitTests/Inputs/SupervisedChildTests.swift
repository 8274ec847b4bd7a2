import Dispatch
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

/// Children that are started again. The pauses are virtual, and the children real.
@Suite(.timeBound) struct SupervisedChildTests {
    private typealias Supervised = Loop.SupervisedChild
    private typealias Child = Loop.ChildProcess

    /// Exits with the first status, then with the second, …, and with the last one from then on.
    private static func exiting(_ codes: Int...) -> @Sendable () throws -> Loop.ChildProcess {
        let starts = Count()
        return { try Child("sh", ["-c", "exit \(codes[min(starts.up(), codes.count) - 1])"]) }
    }

    static func describe(_ event: Loop.SupervisedChild.Event) -> String {
        if case .started = event { "started" } else { "\(event)" }
    }

    /// Runs to the end. Returns the events with the virtual seconds at which they came.
    private func events(_ loop: Loop, _ supervised: Loop.SupervisedChild) -> [String] {
        let log = Log<String>()
        let isStarted = supervised.start { _, event in
            log.add("\(Loop.Instant(nanoseconds: 0).duration(to: loop.now)): \(Self.describe(event))")
        }
        #expect(isStarted && log.entries.isEmpty)
        loop.run()
        return log.entries
    }

    @Test("A child that fails is started again, later each time, until it succeeds")
    func restarts() {
        let (loop, _) = Loop.inVirtualTime()
        let supervised = Supervised(on: loop, label: "server", start: Self.exiting(1, 2, 0))
        #expect(supervised.description == "supervised child \"server\": not started")
        let found = events(loop, supervised)
        #expect(
            found == [
                "0.0 seconds: started", "0.0 seconds: exited with 1, restarts after 0.1 seconds",
                "0.1 seconds: started", "0.1 seconds: exited with 2, restarts after 0.2 seconds",
                "0.3 seconds: started", "0.3 seconds: exited with 0, is not restarted",
                "0.3 seconds: over: exited with 0, which is final",
            ])
        #expect(supervised.description == "supervised child \"server\": over" && supervised.child == nil)
        #expect(!supervised.end(within: .zero) && !supervised.start { _, _ in })
    }

    @Test("It gives up after so many quick ends, whatever they are", arguments: [-1, 1, 3])
    func givesUp(_ limit: Int) {
        let (loop, _) = Loop.inVirtualTime()
        let supervised = Supervised(
            on: loop, backoff: .init(factor: 1), restarts: .always, quickEndLimit: limit, start: Self.exiting(0))
        let found = events(loop, supervised)
        #expect(found.count == 2 * max(1, limit) + 1 && found.last!.hasSuffix("over: gave up after too many ends"))
    }

    @Test("A program that cannot be started is tried again, and counts as a quick end")
    func notStarted() {
        let (loop, _) = Loop.inVirtualTime()
        let supervised = Supervised(on: loop, quickEndLimit: 2) { try Child("/nonexistent") }
        let error = "posix_spawn(/nonexistent): No such file or directory (ENOENT)"
        #expect(
            events(loop, supervised) == [
                "0.0 seconds: not started: \(error), restarts after 0.1 seconds",
                "0.1 seconds: not started: \(error), is not restarted",
                "0.1 seconds: over: gave up after too many ends",
            ])
    }

    @Test("A child that has settled begins the pauses and the count again")
    func settles() {
        let (loop, _) = Loop.inVirtualTime()
        let starts = Count()
        let supervised = Supervised(on: loop, settlingTime: .seconds(5), quickEndLimit: 3) {
            guard starts.up() % 3 == 0, starts.value < 9 else { return try Child("false") }
            let child = try Child("sleep", ["1000"])
            // Its end is quick, since SIGKILL follows at once.
            loop.add(Loop.Timer(after: .seconds(5)) { _ in child.end(within: .zero) })
            return child
        }
        let found = events(loop, supervised).filter { !$0.hasSuffix(": started") }.map { $0.split(separator: ": ")[1] }
        let (quick, settled) = (
            ["exited with 1, restarts after 0.1 seconds", "exited with 1, restarts after 0.2 seconds"],
            "ended by signal"
        )
        #expect(found.count == 10 && Array(found[0..<2]).map(String.init) == quick)
        #expect(found[2].hasPrefix(settled) && found[2].hasSuffix("restarts after 0.1 seconds"))
        // The pause after a settled one was the first.
        #expect(
            found[3] == "exited with 1, restarts after 0.2 seconds"
                && found[4] == "exited with 1, restarts after 0.4 seconds")
        #expect(found[5].hasPrefix(settled) && found.last == "over")
    }

    @Test("The end is asked for while the child runs, in a pause, before the first start, or in the handler")
    func ends() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let running = Supervised(on: loop) { try Child("sleep", ["1000"]) }
        running.start { supervised, event in
            log.add(Self.describe(event))
            if case .started(let child) = event {
                #expect(supervised.child === child)
                #expect(supervised.end(within: .zero) && supervised.end(within: .seconds(1)))
            }
        }
        loop.run()
        #expect(
            log.entries.first == "started" && log.entries.last == "over: ended by the program" && log.entries.count == 3
        )

        let pausing = Supervised(
            on: loop, backoff: .init(from: .seconds(1000), to: .seconds(1000)), start: Self.exiting(1))
        let start = loop.now
        pausing.start { supervised, event in
            log.add(Self.describe(event))
            if case .ended = event { #expect(supervised.end(within: .seconds(5))) }
        }
        loop.run()
        #expect(
            log.entries.suffix(2) == ["exited with 1, restarts after 1000.0 seconds", "over: ended by the program"])
        #expect(loop.now == start, "it waits for nothing")

        let early = Supervised(on: loop) { try Child("true") }
        #expect(early.end(within: .zero) && !early.end(within: .zero))
        #expect(
            !early.start { _, event in log.add("early") } && loop.run(mode: .default, for: .seconds(1)) == .finished)

        let first = Supervised(on: loop) { try Child("true") }
        first.start { _, event in log.add(Self.describe(event)) }
        first.end(within: .zero)
        loop.run()
        #expect(log.entries.last == "over: ended by the program" && log.entries.count == 7)
    }

    @Test("A restart that is asked for while the closure makes the child is of that child")
    func restartInClosure() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (log, starts) = (Log<String>(), Count())
        let itself = LoopBound<Supervised?>(nil, on: loop)
        let supervised = Supervised(on: loop) {
            if starts.up() == 1 { #expect(itself.value!.restart(within: .zero)) }
            return try Child(starts.value == 1 ? "sleep" : "true", ["1000"])
        }
        itself.value = supervised
        supervised.start { _, event in log.add(Self.describe(event)) }
        loop.run()
        // Of SIGTERM and SIGKILL either may end it.
        #expect(log.entries.count == 5 && log.entries[1].hasSuffix(", restarts after 0.0 seconds"))
        let last = ["started", "exited with 0, is not restarted", "over: exited with 0, which is final"]
        #expect(log.entries.first == "started" && log.entries.suffix(3) == last[...])
        itself.value = nil
    }

    @Test("A restart that is asked for in the closure fails if the closure throws, and the pause holds")
    func failedRestartInClosure() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (itself, starts) = (LoopBound<Supervised?>(nil, on: loop), Count())
        let supervised = Supervised(on: loop, quickEndLimit: 3) {
            if starts.up() == 1 { #expect(itself.value!.restart(within: .zero)) }
            throw Refusal()
        }
        itself.value = supervised
        #expect(
            events(loop, supervised) == [
                "0.0 seconds: not started: Refusal(), restarts after 0.1 seconds",
                "0.1 seconds: not started: Refusal(), restarts after 0.2 seconds",
                "0.3 seconds: not started: Refusal(), is not restarted",
                "0.3 seconds: over: gave up after too many ends",
            ])
        itself.value = nil
    }

    @Test("A restart on purpose is neither quick nor final", arguments: ["running", "pausing"])
    func restart(_ state: String) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (log, starts) = (Log<String>(), Count())
        let supervised = Supervised(
            on: loop, backoff: .init(from: .seconds(10)), settlingTime: .seconds(1000), quickEndLimit: 2
        ) { try Child(state == "running" && starts.value < 3 ? "sleep" : "false", ["1000"]) }
        #expect(!supervised.restart(within: .zero))
        supervised.start { supervised, event in
            log.add("\(clock.now.nanoseconds / 1_000_000_000): \(Self.describe(event))")
            switch event {
            case .started(let child):
                let isRestarted = state == "running" && starts.up() <= 3
                if isRestarted { #expect(supervised.restart(within: .seconds(1)) && supervised.restart(within: .zero)) }
                waitForEnd(of: child.process)
            case .ended(_, .some): if state == "pausing" { #expect(supervised.restart(within: .zero)) }
            default: break
            }
        }
        loop.run()
        let restarted = "0: killed by SIGKILL (9), restarts after 0.0 seconds"
        #expect(
            log.entries.filter { !$0.hasSuffix(": started") }.map { $0.contains("restarts after 0.0") ? restarted : $0 }
                == (state == "running" ? [restarted, restarted, restarted] : []) + [
                    "0: exited with 1, restarts after 10.0 seconds",
                    state == "running"
                        ? "10: exited with 1, is not restarted" : "0: exited with 1, is not restarted",
                    state == "running"
                        ? "10: over: gave up after too many ends" : "0: over: gave up after too many ends",
                ])
        #expect(!supervised.restart(within: .zero))
    }

    @Test("Another thread may end it at any moment", arguments: 0..<20)
    func endedElsewhere(_ round: Int) throws {
        let thread = try LoopThread()
        let (log, isOver) = (Log<String>(), Gate())
        let supervised = Supervised(on: thread.loop, backoff: .init(from: .microseconds(10)), start: Self.exiting(1))
        supervised.start { _, event in
            log.add(Self.describe(event))
            if case .over = event { isOver.open() }
        }
        spin(until: log.entries.count > round % 5)
        #expect(supervised.end(within: .seconds(1000)))
        isOver.wait()
        try thread.performAndWait {}
        #expect(log.entries.last == "over: ended by the program" && log.entries.count { $0.hasPrefix("over") } == 1)
        #expect(supervised.child == nil)
    }

    /// The threads meet in some of the rounds.
    @Test("Of two threads one starts it, and after an end nobody does")
    func startsAtOnce() {
        for round in 0..<300 {
            let (loop, _) = Loop.inVirtualTime()
            let (starts, children, overs) = (Count(), Count(), Count())
            let supervised = Supervised(on: loop) {
                children.up()
                return try Child("true")
            }
            let isEnded = round % 2 == 1
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                if isEnded, number == 1 { return _ = supervised.end(within: .zero) }
                let isStarted = supervised.start { _, event in if case .over = event { overs.up() } }
                if isStarted { starts.up() }
            }
            #expect(isEnded ? starts.value < 2 : starts.value == 1)
            supervised.end(within: .zero)
            loop.run()
            #expect(overs.value == starts.value && children.value == 0)
        }
    }

    @Test("What its closures captured is released when it is over, and when the loop ends")
    func release() throws {
        for endsLoop in [false, true] {
            let released = Count()
            let (loop, _) = Loop.inVirtualTime()
            do {
                let captured = Captured(released)
                let supervised = Supervised(on: loop, backoff: .init(from: .seconds(1000))) {
                    withExtendedLifetime(captured) {}
                    return try Child("false")
                }
                supervised.start { supervised, event in
                    guard case .ended = event else { return }
                    if endsLoop { loop.stop() } else { supervised.end(within: .zero) }
                }
            }
            loop.run()
            #expect(released.value == (endsLoop ? 0 : 1))
            loop.end()
            #expect(released.value == 1)
        }
    }

    @Test("Handlers of the main actor are for Loop.main, or for virtual time")
    func mainActor() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            let supervised = Supervised(on: thread.loop, label: "server") { try Child("true") }
            precondition(!supervised.start(isolation: .shared) { _, _ in })
            let expected = Loop.Mistake.refusedItem(item: "supervised child \"server\"", reason: .itemIsForMainActor)
            _exit(mistakes.entries == [expected] ? 0 : 1)
        }
    }

    @Test("A loop that is stopped takes no child, and one that has ended does not start")
    func stoppedLoop() throws {
        let thread = try LoopThread()
        thread.stop()
        thread.joinBlocking()
        let supervised = Supervised(on: thread.loop) { try Child("true") }
        #expect(!supervised.start { _, _ in } && supervised.description.hasSuffix("over"))
    }

    @Test("A closure must return a new child each time")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            let (loop, _) = Loop.inVirtualTime()
            let child = try Child("false")
            let supervised = Supervised(on: loop) { child }
            supervised.start { _, _ in }
            loop.run()
        }
    }

    private struct Refusal: Error {}

    #if DEBUG
        /// Another thread asks for the end at each moment after the closure has thrown, if no lock keeps it from that.
        @Test("An end that is asked for as a pause begins ends the pause")
        func endsAsPauseBegins() throws {
            for moment in 1...60 {
                let (loop, clock) = Loop.inVirtualTime()
                // Until the other thread has asked.
                let hold = clock.hold()
                let (points, asks, isReported, isOver) = (Count(), Gate(), Count(), Count())
                let supervised = Supervised(on: loop, backoff: .init(from: .seconds(1000), to: .seconds(1000))) {
                    points.upBy(1_000_000)
                    throw Refusal()
                }
                supervised.start { _, event in
                    isReported.up()
                    asks.open()
                    if case .over(.ended) = event { isOver.up() }
                }
                let other = try LoopThread()
                other.perform {
                    asks.wait()
                    supervised.end(within: .zero)
                    hold.release()
                }
                let plan = Faults(
                    nil,
                    atPoint: {
                        guard points.value > 0, isReported.value == 0, points.up() == 1_000_000 + moment else { return }
                        asks.open()
                        for _ in 0..<200 { leaveProcessor() }
                    })
                plan.whileArmed { _ = loop.run(mode: .default, for: .seconds(2000)) }
                other.stop()
                other.joinBlocking()
                #expect(isOver.value == 1 && loop.now == Loop.Instant(nanoseconds: 0), "moment \(moment)")
            }
        }
    #endif

    @Test("What keeps the loop from another start is no pause")
    func refusedPause() throws {
        let thread = try LoopThread()
        let log = Log<String>()
        let supervised = Supervised(on: thread.loop) { [unowned thread] in
            thread.stop()
            throw Refusal()
        }
        supervised.start { _, event in log.add(Self.describe(event)) }
        thread.joinBlocking()
        #expect(log.entries == ["not started: Refusal(), is not restarted", "over: ended by the program"])
    }

    @Test("A child that is taken away from the object ends it", arguments: [false, true])
    func childTakenAway(_ getsHandler: Bool) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let supervised = Supervised(on: loop, label: "server") { try Child("true") }
        supervised.start { _, event in
            log.add(Self.describe(event))
            guard case .started(let child) = event else { return }
            if getsHandler {
                child.setHandler { _, exit in log.add("other: \(exit)") }
            } else {
                child.invalidate()
            }
        }
        loop.run()
        let other = getsHandler ? ["other: exited with 0"] : []
        #expect(log.entries.sorted() == (["started", "over: ended by the program"] + other).sorted())
        #expect(supervised.description == "supervised child \"server\": over" && !supervised.end(within: .zero))
    }

    @Test("After the end of the loop it is over")
    func afterLoop() throws {
        let (loop, _) = Loop.inVirtualTime()
        let supervised = Supervised(on: loop, label: "server") { try Child("sleep", ["1000"]) }
        supervised.start { _, event in
            guard case .started(let child) = event else { return }
            loop.stop()
            child.signal(SIGKILL)
        }
        loop.run()
        loop.end()
        #expect(supervised.description == "supervised child \"server\": over" && !supervised.end(within: .zero))
    }

    @Test("After the end of the loop it is over, though the program has kept the child", arguments: [false, true])
    func afterLoopWithChild(_ isInvalid: Bool) throws {
        weak var released: Supervised?
        do {
            let (kept, loop) = (Log<Child>(), Loop.inVirtualTime().0)
            let supervised = Supervised(on: loop, label: "server") { try Child("sleep", ["1000"]) }
            released = supervised
            supervised.start { supervised, event in
                guard case .started(let child) = event else { return }
                // As an object that owns both would.
                withExtendedLifetime(supervised) { kept.add(child) }
                loop.stop()
            }
            loop.run()
            // Its block is dropped with the loop.
            if isInvalid { kept.entries[0].invalidate() }
            loop.end()
            #expect(supervised.description == "supervised child \"server\": over" && !supervised.end(within: .zero))
            for child in kept.entries { child.signal(SIGKILL) }
        }
        #expect(released == nil)
    }

    @Test("A handler of the main actor is not called on another thread in virtual time")
    func mainActorElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let thread = try LoopThread(clock: VirtualClock())
            let supervised = Supervised(on: thread.loop) { throw Refusal() }
            supervised.start(isolation: .shared) { _, _ in }
            try await thread.waitForEnd()
        }
    }

    @Test("After the end of a loop in a pause it is over")
    func loopEndsInPause() {
        let (loop, _) = Loop.inVirtualTime()
        let supervised = Supervised(on: loop, label: "server") { throw Refusal() }
        supervised.start { _, event in loop.stop() }
        loop.run()
        #expect(supervised.description == "supervised child \"server\": in a pause")
        loop.end()
        #expect(supervised.description == "supervised child \"server\": over" && !supervised.end(within: .zero))
    }

    @Test("A child that is in another loop is refused with a reason")
    func childElsewhere() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let ((loop, _), (other, _), log) = (Loop.inVirtualTime(), Loop.inVirtualTime(), Log<String>())
            let supervised = Supervised(on: loop) {
                let child = try Child("sleep", ["1000"], label: "elsewhere")
                other.add(child)
                return child
            }
            supervised.start { _, event in log.add(Self.describe(event)) }
            loop.run()
            let expected = Loop.Mistake.refusedItem(
                item: "child process \"elsewhere\"", reason: .itemIsInAnotherLoop)
            _exit(log.entries == ["over: ended by the program"] && mistakes.entries == [expected] ? 0 : 1)
        }
    }

    @Test("A child that the program has moved to another thread's loop ends the supervision")
    func movedChild() throws {
        let ((loop, _), thread, log) = (Loop.inVirtualTime(), try LoopThread(), Log<String>())
        let supervised = Supervised(on: loop) { try Child("true") }
        supervised.start { _, event in
            log.add(Self.describe(event))
            guard case .started(let child) = event else { return }
            loop.remove(child, in: .common)
            thread.loop.add(child, in: .common)
        }
        loop.run(mode: .default, for: .zero)
        spin(until: supervised.child == nil)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["started", "over: ended by the program"])
    }

}
