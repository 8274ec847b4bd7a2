import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// The same call made twice does what one does, unless the documentation says otherwise.
@Suite(.timeBound) struct TwiceTests {
    /// A call, and what a program shows that makes it a number of times.
    struct Case: Sendable, CustomStringConvertible {
        let call: String
        let detail: String
        let play: @Sendable (_ times: Int) throws -> [String]

        init(_ call: String, _ detail: String = "", _ play: @escaping @Sendable (_ times: Int) throws -> [String]) {
            (self.call, self.detail, self.play) = (call, detail, play)
        }

        var description: String { "\(call) \(detail)" }
    }

    @Test("Two and three calls show what one shows", arguments: cases)
    func sameTrace(_ tested: Case) throws {
        let once = try tested.play(1)
        #expect(!once.isEmpty)
        for times in 2...3 {
            let more = try tested.play(times)
            #expect(more == once, "\(times) times: \(more), once: \(once)")
        }
    }

    /// Calls that register something and are not among `cases`, and what the second one does.
    private static let others = [
        "apply": "throws, or replaces what is waiting: RuleEngineTests, RuleSnapshotTests/snapshotAppliedTwice",
        "limit": "throws: RuleEngineTests",
        "begin": "traps: MistakeProgram host-twice",
        "beginHosting": "deprecated: begin",
        "onEnd": "registers two handlers: EndHandlerTests",
        "dumpOnSignal": "does nothing: RefusalProgram dump",
    ]

    @Test("Each public call that registers something is here")
    func noneIsMissing() throws {
        var found: Set<String> = []
        let names =
            "add|addCommonMode|prepare|limit|apply|(?:attach|watch|begin|on|observe|register|install|dumpOn)[A-Za-z]*"
        let declaration = try Regex("public (?:final |static )*func (\(names))[(<]", as: (Substring, Substring).self)
        for source in try librarySources() {
            for match in source.text.matches(of: declaration) { found.insert(String(match.1)) }
        }
        #expect(found == Set(Self.cases.map(\.call)).intersection(found).union(Self.others.keys))
        #expect(found.isSuperset(of: ["add", "addCommonMode", "attach", "watch", "prepare"]))
    }

    // MARK: Adding

    private static let modes: [Loop.Mode] = [.default, .common]

    static let cases: [Case] =
        modes.flatMap(adding)
        + [
            Case("addCommonMode") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                loop.add(Loop.Timer(every: .seconds(1)) { _ in log.add("timer") }, in: .common)
                for _ in 0..<times { loop.addCommonMode("extra") }
                loop.perform(in: .common) { log.add("block") }
                loop.run(mode: "extra", for: .seconds(2.5))
                return log.entries
            },
            Case("prepare") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                for _ in 0..<times { try loop.prepare("prepared") }
                loop.perform(in: "prepared") { log.add("block") }
                log.add("\(loop.run(mode: "prepared", for: .zero)), \(loop.modes.count) modes")
                return log.entries
            },
            Case("attach", "a tracer") { times in
                let (loop, clock) = Loop.inVirtualTime()
                let tracer = LoopTracer(clock: clock)
                for _ in 0..<times { tracer.attach(to: loop) }
                loop.perform {}
                loop.run(mode: .default, for: .zero)
                return kinds(in: tracer)
            },
            Case("watch", "a method") { times in
                let (loop, made, reports) = (Loop(clock: VirtualClock()), Count(), Count())
                let layouting = LimitedMethod<Gate, Int>("layout", engine: RuleEngine()) { _, _ in made.up() }
                let detector = FeedbackLoopDetector(
                    on: loop, threshold: 10, actions: [.call { _ in reports.up() }, .dropCalls])
                let watches = (0..<times).map { _ in detector.watch(layouting) }
                let panel = Gate()
                loop.perform { for index in 0..<50 { layouting(panel, index) } }
                loop.run(mode: .default, for: .zero)
                watches[0].cancel()
                let isWatched = layouting.body.isWatched.load(ordering: .relaxed)
                return ["\(made.value) calls", "\(reports.value) reports", "\(isWatched)"]
            },
            Case("watch", "a loop") { times in
                let loop = Loop(clock: VirtualClock())
                let watcher = StallWatcher(
                    StallRules(
                        thresholds: [1_000_000_000], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil }
                    ),
                    now: { 0 }, handler: { _ in })
                for _ in 0..<times { _ = watcher.watch(loop, name: "loop") }
                loop.perform {}
                loop.run(mode: .default, for: .zero)
                let callouts = watcher.metrics(of: loop)?.callouts ?? -1
                watcher.unwatch(loop)
                return ["\(callouts)", "\(watcher.metrics(of: loop) == nil)"]
            },
        ] + ending

    private static func adding(_ mode: Loop.Mode) -> [Case] {
        [
            Case("add", "a version-0 source, \(mode)") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                let source = Loop.Source0(
                    schedule: { _, mode in log.add("in \(mode)") }, cancel: { _, mode in log.add("out of \(mode)") },
                    perform: { log.add("performs") })
                return add(source, in: mode, of: loop, times, log) { source.signal() }
            },
            Case("add", "a port, \(mode)") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                let port = try Loop.PortSource { log.add("\($0) sends") }
                return add(port, in: mode, of: loop, times, log) { port.send() }
            },
            Case("add", "a message port, \(mode)") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                let port = Loop.MessagePort<Int> { log.add("message \($0)") }
                return add(port, in: mode, of: loop, times, log) { port.send(1) }
            },
            Case("add", "a descriptor, \(mode)") { times in
                let (loop, log, pipe) = (Loop(clock: VirtualClock()), Log<String>(), Ends.pipe())
                let source = try Loop.FileDescriptorSource(pipe.reader) { _, _ in log.add("read \(pipe.take()!)") }
                return add(source, in: mode, of: loop, times, log) { pipe.send("x") }
            },
            Case("add", "a timer, \(mode)") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                let timer = Loop.Timer(every: .seconds(1)) { _ in log.add("timer") }
                return add(timer, in: mode, of: loop, times, log) {}
            },
            Case("add", "an observer, \(mode)") { times in
                let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
                let observer = Loop.Observer([.entry, .exit]) { _, activity in log.add("\(activity)") }
                return add(observer, in: mode, of: loop, times, log) {}
            },
        ]
    }

    /// Ends a connection, whose peer sends something afterwards.
    private static func end(times: Int, _ end: (Loop.Connection) -> Void) throws -> [String] {
        let (loop, clock) = Loop.inVirtualTime()
        let (log, ends) = (Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader) { _, event in
            log.add("\(event) after \(clock.now.nanoseconds)")
        }
        ends.isReaderClosed = true
        loop.add(connection)
        for _ in 0..<times { end(connection) }
        ends.send("late")
        log.add("\(loop.run(mode: .default, for: .seconds(5)))")
        return log.entries
    }

    /// Adds an item, lets it act, removes it as often as it was added, and lets it act again.
    private static func add(
        _ item: Loop.Item, in mode: Loop.Mode, of loop: Loop, _ times: Int, _ log: Log<String>, act: () -> Void
    ) -> [String] {
        for _ in 0..<times where !loop.add(item, in: mode) { log.add("refused") }
        // Removed once: a second call must not have left a second membership.
        for round in 0..<2 {
            act()
            loop.perform { log.add("round \(round)") }
            log.add("\(loop.run(mode: .default, for: .seconds(2.5)))")
            loop.remove(item, in: mode)
        }
        for _ in 0..<times { item.invalidate() }
        log.add("\(loop.contains(item, in: mode))")
        return log.entries
    }

    /// Without numbers, which are those of the process.
    private static func kinds(in tracer: LoopTracer) -> [String] {
        tracer.snapshot().events.map { String("\($0.kind)".prefix { $0 != "(" }) }
    }

    // MARK: Ending

    private static let ending = [
        Case("remove") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let source = Loop.Source0(cancel: { _, mode in log.add("out of \(mode)") }, perform: {})
            loop.add(source)
            for _ in 0..<times { loop.remove(source) }
            return log.entries
        },
        Case("signal") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let source = Loop.Source0 { log.add("performs") }
            loop.add(source)
            for _ in 0..<times { source.signal() }
            loop.run(mode: .default, for: .seconds(1))
            return log.entries
        },
        Case("stop") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            loop.add(Loop.Timer(every: .seconds(1)) { _ in log.add("timer") })
            loop.perform { for _ in 0..<times { loop.stop() } }
            for _ in 0..<2 { log.add("\(loop.run(mode: .default, for: .seconds(1.5)))") }
            return log.entries
        },
        Case("end") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            loop.onEnd { log.add("ended") }
            loop.perform { log.add("block") }
            for _ in 0..<times { loop.end() }
            return log.entries
        },
        Case("finish") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let port = Loop.MessagePort<Int> { log.add("message \($0)") }
            port.setEndHandler { log.add("end") }
            port.send(1)
            for _ in 0..<times { port.finish() }
            loop.add(port)
            log.add("\(loop.run(mode: .default, for: .seconds(1)))")
            loop.end()
            return log.entries
        },
        Case("end", "a child") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            // It counts the signals of kind TERM until it is told to end.
            let (gate, output) = (Ends.blockingPipe(), Ends.blockingPipe())
            let child = try Loop.ChildProcess(
                "sh", ["-c", "trap 'echo asked' TERM; echo ready; while ! read line; do :; done; exit 3"],
                input: .descriptor(gate.reader), output: .descriptor(output.writer)
            ) { _, exit in log.add("\(exit)") }
            output.closeWriter()
            log.add(output.take() ?? "")
            loop.add(child)
            for _ in 0..<times { child.end(within: .seconds(1000)) }
            log.add(output.take() ?? "")
            gate.send("\n")
            waitForEnd(of: child.process)
            log.add(output.take() ?? "")
            loop.run(mode: .default, for: .seconds(1))
            return log.entries
        },
        Case("end", "a child after a time") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let output = Ends.blockingPipe()
            let child = try Loop.ChildProcess(
                "sh", ["-c", "trap '' TERM; echo ready; exec sleep 1000"], output: .descriptor(output.writer)
            ) { child, exit in log.add("\(exit), \(child.isOverTimeLimit)") }
            output.closeWriter()
            log.add(output.take() ?? "")
            loop.add(child)
            for _ in 0..<times { child.end(after: .seconds(100), within: .seconds(10)) }
            loop.run()
            return log.entries
        },
        Case("end", "a supervised child") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let supervised = Loop.SupervisedChild(on: loop) { try Loop.ChildProcess("sleep", ["1000"]) }
            supervised.start { supervised, event in
                if case .started = event { for _ in 0..<times { supervised.end(within: .zero) } }
                if case .over(let reason) = event { log.add("\(reason)") }
            }
            loop.run()
            return log.entries
        },
        Case("end", "a supervised child that rests") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let supervised = Loop.SupervisedChild(on: loop, restarts: .onDemand) { throw CancellationError() }
            supervised.start { supervised, event in
                if case .notStarted = event { for _ in 0..<times { supervised.end(within: .zero) } }
                if case .over(let reason) = event { log.add("\(reason)") }
            }
            loop.run()
            return log.entries
        },
        Case("end", "a connection") { times in
            let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
            let connection = try Loop.Connection(owning: ends.reader) { _, event in log.add("\(event)") }
            ends.isReaderClosed = true
            loop.add(connection)
            for _ in 0..<times { connection.end() }
            log.add(readText(ends.writer) ?? "no end")
            ends.send("dropped")
            loop.run(mode: .default, for: .seconds(1))
            finishWriting(ends.writer)
            loop.run(mode: .default, for: .seconds(1))
            return log.entries
        },
        Case("end", "a connection, within a period") { try end(times: $0) { $0.end(within: .seconds(2)) } },
        Case("finishSending", "a connection, within a period") {
            try end(times: $0) { $0.finishSending(within: .seconds(2)) }
        },
        Case("end", "a set of connections") { times in
            let (loop, clock) = Loop.inVirtualTime()
            let (log, ends, connections) = (Log<String>(), Ends.sockets(), Loop.ConnectionSet())
            let connection = try Loop.Connection(owning: ends.reader) { _, event in
                log.add("\(event) after \(clock.now.nanoseconds)")
            }
            ends.isReaderClosed = true
            loop.add(connection)
            connections.insert(connection)
            for _ in 0..<times { connections.end(within: .seconds(2)) }
            log.add("\(loop.run(mode: .default, for: .seconds(5))), \(connections.count) are left")
            return log.entries
        },
        Case("insert", "a connection into a set") { times in
            let (ends, connections) = (Ends.sockets(), Loop.ConnectionSet())
            let connection = try Loop.Connection(owning: ends.reader) { _, _ in }
            ends.isReaderClosed = true
            for _ in 0..<times { connections.insert(connection) }
            defer { connection.invalidate() }
            return ["\(connections.count), \(connections.connections.count)"]
        },
        Case("finishSending") { times in
            let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
            let connection = try Loop.Connection(owning: ends.reader) { _, event in log.add("\(event)") }
            ends.isReaderClosed = true
            loop.add(connection)
            connection.send(Array("sent".utf8))
            for _ in 0..<times { connection.finishSending() }
            for _ in 0..<2 { log.add(readText(ends.writer) ?? "no end") }
            ends.send("received")
            loop.run(mode: .default, for: .seconds(1))
            connection.invalidate()
            return log.entries
        },
        Case("end", "a listener") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let address = Loop.SocketAddress.unix("\0RunLoopKit-\(UInt64.random(in: 0 ... .max))")
            let listener = try Loop.Listener(address) { _, connection in
                connection.invalidate()
                log.add("accepted")
            }
            loop.add(listener)
            let client = try Loop.Connection(connectingTo: address)
            for _ in 0..<times { listener.end() }
            client.invalidate()
            return log.entries + ["\(listener.isValid)"]
        },
        Case("cancel", "a limiter") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let debounce = Debounce<Int>(interval: .seconds(1), on: loop) { log.add("\($0)") }
            debounce(1)
            for _ in 0..<times { debounce.cancel() }
            debounce(2)
            loop.run(mode: .default, for: .seconds(3))
            return log.entries
        },
        Case("flush", "a limiter") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let debounce = Debounce<Int>(interval: .seconds(1), on: loop) { log.add("\($0)") }
            debounce(1)
            loop.perform { for _ in 0..<times { debounce.flush() } }
            loop.run(mode: .default, for: .seconds(3))
            return log.entries
        },
        Case("detach", "a tracer") { times in
            let (loop, clock) = Loop.inVirtualTime()
            let tracer = LoopTracer(clock: clock)
            tracer.attach(to: loop)
            loop.perform {}
            loop.run(mode: .default, for: .zero)
            for _ in 0..<times { tracer.detach(from: loop) }
            loop.perform {}
            loop.run(mode: .default, for: .zero)
            return kinds(in: tracer)
        },
        Case("withdraw") { times in
            let (loop, log) = (Loop(clock: VirtualClock()), Log<String>())
            let handle = loop.performCancellable { log.add("never") }
            loop.perform { log.add("block") }
            for _ in 0..<times { _ = handle?.withdraw() }
            loop.run(mode: .default, for: .zero)
            return log.entries
        },
    ]
}
