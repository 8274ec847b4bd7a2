import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What a tracer records, in virtual time: the times are exact.
@Suite(.timeBound) struct LoopTracerTests {
    /// Runs a loop in virtual time with a tracer attached, and returns the trace.
    private func trace(
        capacity: Int = LoopTracer.defaultCapacity, for duration: Duration = .seconds(10),
        _ prepare: (Loop, VirtualClock) throws -> Void
    ) rethrows -> LoopTrace {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(capacity: capacity, clock: clock)
        tracer.attach(to: loop, as: "the loop")
        try prepare(loop, clock)
        loop.run(mode: .default, for: duration)
        tracer.detach()
        return tracer.snapshot()
    }

    private func callouts(_ trace: LoopTrace, _ kind: Loop.HandlerKind) -> [LoopTrace.Span] {
        trace.spans.filter { $0.handler?.kind == kind }
    }

    @Test("Activities are recorded in the order of a pass")
    func activities() {
        let trace = trace(for: .seconds(1)) { loop, _ in
            loop.add(Loop.Timer(after: .milliseconds(5)) { _ in }, in: .default)
        }
        let activities = trace.events.compactMap { event -> String? in
            guard case .reached(let activity, let mode) = event.kind else { return nil }
            #expect(mode == "default" && event.loop == 0)
            return activity.description
        }
        #expect(
            activities == ["entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit"])
        #expect(trace.loops == ["the loop"] && trace.lostEventCount == 0)
        #expect(trace.start == 0 && trace.end == 5_000_000)
    }

    @Test("A callout has its kind, its name and its duration")
    func calloutDurations() throws {
        let trace = trace { loop, clock in
            loop.add(Loop.Timer(after: .milliseconds(5)) { _ in Self.work(on: loop, .milliseconds(3)) }, in: .default)
            loop.perform { Self.work(on: loop, .milliseconds(2)) }
        }
        let timer = try #require(callouts(trace, .timer).first { $0.duration > .zero })
        #expect(timer.start == 5_000_000 && timer.ownTime == .zero && timer.duration == .milliseconds(3))
        #expect(timer.handler?.name.hasPrefix("timer (RunLoopDiagnosticsTests/LoopTracerTests.swift:") == true)
        let block = try #require(callouts(trace, .block).first)
        #expect(block.start == 0 && block.duration == .milliseconds(2) && !block.isOpen)
        #expect(block.handler?.name.hasPrefix("(RunLoopDiagnosticsTests/LoopTracerTests.swift:") == true)
        #expect(trace.handlers.map(\.handler.kind) == [.timer, .block, .timer])
        #expect(trace.handlers[0].worst == .milliseconds(3) && trace.handlers[0].count == 1)
        #expect(trace.handlers[0].ownTime == .zero, "its time was in a run nested in it")
        #expect("\(trace.handlers[0])".hasSuffix(": 1 call, 3.00 ms in all, 0 ns of its own, at most 3.00 ms"))
    }

    /// The port stays ready, and keeps the sequence number of its first message.
    @Test("A send is the cause of one callout, and a message behind others has none that is known")
    func causesOfMessages() {
        let trace = trace { loop, _ in
            let port = Loop.MessagePort<Int> { _ in }
            loop.add(port)
            for number in 1...150 { port.send(number) }
            loop.add(
                Loop.Timer(after: .seconds(1)) { _ in
                    port.send(0)
                    port.send(0)
                })
        }
        let causes = callouts(trace, .source1).map(\.cause)
        #expect(causes.count == 152)
        #expect(causes.indices.filter { causes[$0] != 0 } == [0, 150])
        #expect(trace.arrows.map { trace.spans[$0.callout].start } == [0, 1_000_000_000])
    }

    @Test("A message that a handler keeps from being handled is no callout")
    func messagesThatAreNotHandled() {
        for keepFrom in [{ $0.disarm() }, { $0.invalidate() }, { _ = $0.takeWaiting() }]
            as [@Sendable (Loop.MessagePort<Int>) -> Void]
        {
            let trace = trace { loop, _ in
                let box = Box<Loop.MessagePort<Int>>()
                let port = Loop.MessagePort<Int> { _ in keepFrom(box.value!) }
                box.value = port
                loop.add(port)
                for number in 1...3 { port.send(number) }
                loop.add(Loop.Timer(after: .seconds(1)) { _ in box.value = nil })
            }
            #expect(callouts(trace, .source1).count == 1)
        }
    }

    @Test("The host's time between passes in a handler is not the handler's own")
    func nestedHost() throws {
        let (loop, _) = Loop.inVirtualTime()
        // Of its own, since time stands still for a loop whose handler runs the host.
        let clock = VirtualClock(.manual)
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        _ = try loop.hosting.begin()
        loop.perform(label: "dialog") {
            clock.advance(by: .milliseconds(1))
            for _ in 0..<4 {
                loop.perform(label: "served") { clock.advance(by: .milliseconds(2)) }
                while loop.hosting.pass() == .more {}
                clock.advance(by: .milliseconds(100))
            }
            // The rest after it ends with the handler.
            loop.hosting.pass()
        }
        while loop.hosting.pass() == .more {}
        loop.hosting.end()
        let spans = callouts(tracer.snapshot(), .block)
        let dialog = try #require(spans.first)
        #expect(spans.map(\.handler?.name) == ["\"dialog\""] + Array(repeating: "\"served\"", count: 4))
        #expect(dialog.duration == .milliseconds(409) && dialog.ownTime == .milliseconds(1))
        #expect("\(dialog)" == "block \"dialog\" for 409 ms, 1.00 ms of it its own" && !dialog.isWait)
        #expect(spans[1...].allSatisfy { $0.ownTime == .milliseconds(2) && !"\($0)".contains("own") })
    }

    @Test("A guest's rest in a handler of its host ends with the handler or a detach", arguments: 1...2)
    func guests(_ count: Int) throws {
        let (host, guests) = (Loop.inVirtualTime().0, (0..<count).map { _ in Loop.inVirtualTime().0 })
        let clock = VirtualClock(.manual)
        let tracer = LoopTracer(clock: clock)
        for guest in guests { _ = try guest.hosting.begin() }
        // Later: a guest's run around the host's handlers would end them with it.
        for loop in [host] + guests { tracer.attach(to: loop) }
        func call(_ body: @escaping @Sendable () -> Void) {
            host.perform(label: "server", body)
            host.run(mode: .default, for: .zero)
            clock.advance(by: .milliseconds(100))
        }
        let serve: @Sendable () -> Void = {
            for guest in guests {
                while guest.hosting.pass() == .more {}
                clock.advance(by: .milliseconds(10))
            }
        }
        for _ in 1...2 {
            call {
                clock.advance(by: .milliseconds(1))
                serve()
            }
        }
        call {
            serve()
            for guest in guests { tracer.detach(from: guest) }
            clock.advance(by: .milliseconds(2))
        }
        let ownTimes = callouts(tracer.snapshot(), .block).map(\.ownTime)
        #expect(ownTimes == [.milliseconds(1), .milliseconds(1), .milliseconds(2)])
    }

    /// Takes virtual time: a run nested in the handler, in a mode with nothing but a timer.
    private static func work(on loop: Loop, _ duration: Duration) {
        loop.add(Loop.Timer(after: duration) { _ in }, in: "work")
        loop.run(mode: "work", for: duration)
    }

    @Test("A wait says what ended it")
    func waits() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        let port = try Loop.PortSource { _ in }
        port.label = "door"
        let timer = Loop.Timer(after: .seconds(1)) { _ in }
        timer.label = "alarm"
        let sender = try LoopThread(name: "sender", clock: clock)
        // Until both loops run.
        let hold = clock.hold()
        loop.perform { hold.release() }
        loop.add(port, in: .default)
        loop.add(timer, in: .default)
        sender.perform(after: .seconds(2)) { port.send() }
        sender.perform(after: .seconds(3)) { loop.wakeUp() }
        loop.run(mode: .default, for: .seconds(4))
        let reasons = tracer.snapshot().spans.compactMap { span -> String? in
            if case .wait(_, let reason) = span.kind { "\(span.duration.components.seconds) \(reason)" } else { nil }
        }
        #expect(
            reasons == ["1 timer \"alarm\"", "1 port source \"door\"", "1 a wake-up by sender", "1 its limit"])
    }

    @Test("Arrows lead from a post, a signal, a send and a message to the handler")
    func arrows() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        let sender = try LoopThread(name: "sender", clock: clock)
        // Until both loops run.
        let hold = clock.hold()
        loop.perform { hold.release() }
        let port = try Loop.PortSource { _ in }
        let messages = Loop.MessagePort<Int> { _ in }
        let source = Loop.Source0 {}
        for item in [port, messages, source] { loop.add(item, in: .default) }
        sender.perform(after: .seconds(1)) { port.send() }
        sender.perform(after: .seconds(2)) { messages.send(1) }
        sender.perform(after: .seconds(3)) { source.signal() }
        sender.perform(after: .seconds(4)) { loop.perform {} }
        loop.run(mode: .default, for: .seconds(5))
        let trace = tracer.snapshot()
        let arrows = trace.arrows.filter { trace.threads[$0.thread].name == "sender" }
        #expect(arrows.map(\.time) == [seconds(1), seconds(2), seconds(3), seconds(4)])
        #expect(
            arrows.compactMap { trace.spans[$0.callout].handler?.kind } == [.source1, .source1, .source0, .block])
        #expect(arrows.allSatisfy { trace.spans[$0.callout].start == $0.time })
    }

    private actor Resident {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        init(_ thread: LoopThread) { self.thread = thread }
        func look(at tracer: LoopTracer) -> LoopTrace { tracer.snapshot() }
    }

    @Test("Arrows lead to the jobs of an actor")
    func jobs() async throws {
        let thread = try LoopThread(name: "home")
        let tracer = LoopTracer()
        tracer.attach(to: thread.loop)
        let trace = await Resident(thread).look(at: tracer)
        let job = try #require(trace.spans.lastIndex { $0.handler?.kind == .job })
        let arrow = try #require(trace.arrows.first { $0.callout == job })
        #expect(arrow.time <= trace.spans[job].start)
        #expect(trace.threads[arrow.thread].name != "home" && trace.loops == ["home"])
    }

    /// Another tracer watches that loop, so its handovers are reported.
    @Test("What is handed to a loop that the tracer does not watch is not recorded")
    func handoversToOtherLoops() throws {
        let watched = Loop.inVirtualTime().0
        let thread = try LoopThread(name: "not watched")
        let (tracer, otherTracer) = (LoopTracer(), LoopTracer())
        tracer.attach(to: watched)
        otherTracer.attach(to: thread.loop)
        let (port, messages) = (try Loop.PortSource { _ in }, Loop.MessagePort<Int> { _ in })
        let source = Loop.Source0 {}
        for item in [port, messages, source] { thread.loop.add(item, in: .common) }
        port.send()
        messages.send(1)
        source.signal()
        try thread.performAndWait {}
        Task(executorPreference: thread.loop.taskExecutor) {}
        try thread.performAndWait {}
        #expect(tracer.snapshot().events.isEmpty)
        #expect(Set(handovers(otherTracer.snapshot()).map(\.kind)) == [.block, .source0, .source1, .job])
    }

    @Test("What is handed to an item in two loops is recorded once for each loop that the tracer watches")
    func handoverToTwoLoops() throws {
        let loops = [Loop.inVirtualTime().0, Loop.inVirtualTime().0]
        let (tracer, source, port) = (LoopTracer(), Loop.Source0 {}, try Loop.PortSource { _ in })
        for loop in loops {
            loop.addCommonMode("other")
            for item in [source, port] { loop.add(item, in: .common) }
        }
        tracer.attach(to: loops[0])
        source.signal()
        port.send()
        #expect(handovers(tracer.snapshot()).map(\.loop) == [0, 0])
        tracer.attach(to: loops[1])
        loops[0].remove(port, in: "other")
        for loop in loops { loop.run(mode: .default, for: .zero) }
        port.send()
        // One send is recorded for its loops in any order.
        #expect(handovers(tracer.snapshot()).map(\.loop!).sorted() == [0, 0, 0, 1])
        loops[0].remove(port, in: .common)
        loops[1].run(mode: .default, for: .zero)
        port.send()
        #expect(handovers(tracer.snapshot()).map(\.loop!).sorted() == [0, 0, 0, 1, 1])
    }

    private func handovers(_ trace: LoopTrace) -> [(kind: Loop.HandlerKind, loop: Int?)] {
        trace.events.compactMap { event in
            if case .handedOver(let handler, _) = event.kind { (handler.kind, event.loop) } else { nil }
        }
    }

    @Test("A block is caused by the block that posted it")
    func senders() throws {
        let trace = trace { loop, _ in loop.perform { loop.perform {} } }
        let blocks = trace.spans.indices.filter { trace.spans[$0].handler?.kind == .block }
        #expect(blocks.count == 2)
        #expect(trace.arrows.contains { $0.sender == blocks[0] && $0.callout == blocks[1] })
    }

    @Test("A timer's lateness is recorded")
    func lateness() throws {
        let trace = trace { loop, _ in
            loop.perform { Self.work(on: loop, .milliseconds(7)) }
            loop.add(Loop.Timer(after: .milliseconds(5)) { _ in }, in: .default)
        }
        let timer = try #require(callouts(trace, .timer).first { $0.lateness > .zero })
        #expect(timer.lateness == .milliseconds(2))
        #expect(trace.latenessHistogram.first { $0.limit == .milliseconds(3) }?.count == 1)
        #expect(trace.latenessHistogram.reduce(0) { $0 + $1.count } == callouts(trace, .timer).count)
    }

    @Test("Queue lengths are recorded when they change")
    func queueLengths() {
        let trace = trace { loop, _ in
            for _ in 1...3 { loop.perform {} }
            loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
        }
        let lengths = trace.events.compactMap { event -> Int? in
            if case .queueLengths(let blocks, 0) = event.kind { blocks } else { nil }
        }
        #expect(lengths == [3] || lengths == [3, 0])
    }

    @Test("A ring that is full loses the oldest events, and counts them")
    func lost() {
        let trace = trace(capacity: 32) { loop, _ in
            loop.add(Loop.Timer(every: .seconds(1)) { _ in }, in: .default)
        }
        #expect(trace.events.count == 32 && trace.lostEventCount > 32)
        #expect(trace.spans.allSatisfy { $0.end >= $0.start && $0.depth >= 0 })
    }

    @Test("After a detach nothing more is recorded")
    func detaching() {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        tracer.attach(to: loop)
        loop.perform { tracer.detach(from: loop) }
        loop.run(mode: .default, for: .seconds(1))
        let trace = tracer.snapshot()
        #expect(trace.loops.count == 1)
        #expect(trace.spans.contains { $0.isOpen && $0.handler?.kind == .block }, "it was attached until the block")
        let isMonitored = loop.isMonitored.load(ordering: .relaxed)
        #expect(!isMonitored)
        loop.perform {}
        loop.run(mode: .default, for: .zero)
        #expect(tracer.snapshot().events.count == trace.events.count)
    }

    /// Names are by address, and an address is used again.
    @Test("What a detached loop was in ends with the detach, also if it is attached again")
    func openAtDetach() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop, as: "first")
        loop.perform(label: "long") {
            clock.advance(by: .milliseconds(5))
            tracer.detach(from: loop)
            clock.advance(by: .milliseconds(5))
            tracer.attach(to: loop, as: "second")
            clock.advance(by: .milliseconds(5))
        }
        loop.perform(label: "short") { clock.advance(by: .milliseconds(1)) }
        loop.run(mode: .default, for: .zero)
        tracer.detach()
        clock.advance(by: .milliseconds(500))
        let trace = tracer.snapshot()
        let spans = trace.spans.filter { $0.handler?.kind == .block }
        #expect(spans.map(\.duration) == [.milliseconds(5), .milliseconds(1)])
        #expect(spans.map(\.isOpen) == [true, false])
        #expect(spans.map(\.depth) == [1, 0], "the second recording knows nothing of the run")
        #expect(spans.map(\.ownTime) == spans.map(\.duration))
        #expect(trace.end == loop.now - .milliseconds(500) && tracer.now == loop.now)
    }

    /// Handlers take random time, and attach and detach the loop in between.
    @Test("A trace has of each handler what was recorded", arguments: 0..<100 as Range<UInt64>)
    func recordedParts(_ seed: UInt64) {
        var random = SplitMix(seed)
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let tracer = LoopTracer(clock: clock)
        var isAttached = false
        var expected: [Duration] = []
        for _ in 0..<10 {
            var recorded: Duration? = isAttached ? .zero : nil
            var isRecorded = isAttached
            var steps: [@Sendable () -> Void] = []
            for _ in 0..<random.next() % 4 {
                let time = Duration.milliseconds(random.next() % 10)
                steps.append { clock.advance(by: time) }
                if isRecorded { recorded! += time }
                guard random.next() % 2 == 0 else { continue }
                steps.append { [isAttached] in
                    if isAttached { tracer.detach(from: loop) } else { tracer.attach(to: loop) }
                }
                (isAttached, isRecorded) = (!isAttached, false)
            }
            if let recorded { expected.append(recorded) }
            loop.perform { [steps] in for step in steps { step() } }
            loop.run(mode: .default, for: .zero)
            clock.advance(by: .milliseconds(1))
        }
        #expect(tracer.snapshot().spans.filter { $0.handler?.kind == .block }.map(\.duration) == expected)
    }

    /// The handler interrupts the thread while it writes an event, too.
    @Test("A send in a Unix signal handler is recorded")
    func signalHandler() throws {
        let (tracer, thread) = (LoopTracer(capacity: 64), try LoopThread(name: "receiver"))
        let (handled, ready, done) = (Count(), Box<SendingThread>(), Gate())
        let port = try Loop.PortSource { handled.upBy($0) }
        let other = try Loop.PortSource { _ in }
        thread.loop.add(port, in: .common)
        thread.loop.add(other, in: .common)
        tracer.attach(to: thread.loop)
        let isReady = Gate()
        let poster = try System.startThread(stackSize: nil) {
            System.nameThread("poster")
            ready.value = SendingThread(to: port)
            isReady.open()
            // Both are coalesced: the thread cannot flood the loop.
            while !done.isOpenNow {
                other.send()
                thread.loop.wakeUp()
            }
        }
        isReady.wait()
        for count in 1...500 {
            ready.value?.send()
            spin(until: handled.value == count)
        }
        done.open()
        System.join(poster)
        SendingThread.end()
        try thread.performAndWait { port.send() }
        let trace = tracer.snapshot()
        #expect(trace.events.count <= 64 && trace.lostEventCount > 1000)
        let names: Set = ["poster", "receiver"]
        #expect(trace.threads.contains { names.contains($0.name) })
    }

    @Test("Spans of different loops do not mix on threads that are too many to be known")
    func threadsWithoutSlot() {
        func record(_ code: TraceRecord.Code, of loop: UInt16, at time: Int64) -> TraceRecord {
            var record = TraceRecord(code, at: time)
            (record.kind, record.loop, record.thread) = (Loop.HandlerKind.job.rawValue, loop, TraceThreads.others)
            return record
        }
        var reading = TraceReading(TraceRecorder(capacity: 16, clock: nil), [(nil, nil), (nil, nil)])
        let records = [
            record(.willCallOut, of: 0, at: 0), record(.willCallOut, of: 1, at: 10), record(.wasWoken, of: 0, at: 15),
            record(.didCallOut, of: 0, at: 20), record(.didCallOut, of: 1, at: 40),
        ]
        let trace = reading.trace(of: records, lost: LostEvents(count: 0, total: 5, capacity: 16, since: 0), at: 50)
        #expect(trace.spans.map(\.ownTime) == [.nanoseconds(20), .nanoseconds(30)])
        #expect(trace.spans.allSatisfy { $0.depth == 0 && !$0.isOpen })
        #expect(trace.threads.map(\.name) == ["thread of loop 1", "thread of loop 2", "other threads"])
        #expect(trace.loops == ["loop 1", "loop 2"])
    }

    /// Loops run, threads post and send, another thread attaches and detaches, another takes snapshots.
    @Test("Attaching, detaching and snapshots at any time, from any thread")
    func stress() throws {
        let tracer = LoopTracer(capacity: 256)
        let threads = try (0..<3).map { try LoopThread(name: "stress \($0)") }
        let handled = Count()
        let ports = try threads.map { thread in
            let port = try Loop.PortSource { handled.upBy($0) }
            thread.loop.add(port, in: .common)
            return port
        }
        let done = Count()
        let senders = try (0..<2).map { _ in
            try System.startThread(stackSize: nil) {
                for round in 0..<1000 {
                    ports[round % 3].send()
                    threads[round % 3].loop.perform { handled.up() }
                }
                done.up()
            }
        }
        let switcher = try System.startThread(stackSize: nil) {
            while done.value < 2 {
                for thread in threads { tracer.attach(to: thread.loop) }
                tracer.detach(from: threads[0].loop)
                tracer.detach()
            }
        }
        while done.value < 2 {
            let trace = tracer.snapshot()
            #expect(trace.events.count <= 256)
            yieldProcessor()
        }
        for thread in senders + [switcher] { System.join(thread) }
        for thread in threads { try thread.performAndWait {} }
        spin(until: handled.value == 4000)
        let monitored = threads.filter { $0.loop.isMonitored.load(ordering: .relaxed) }
        #expect(monitored.isEmpty)
    }
}
