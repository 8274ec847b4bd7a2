import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// A run serves several sources that are ready without the passes between, if nothing shows these.
@Suite(.timeBound) struct InvisiblePassTests {
    @Test("A hundred ready sources are served in two passes, and in their order")
    func onePass() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Int>()
        let ports = try (0..<60).map { number in
            try Loop.PortSource { _ in
                log.add(number)
                if number == 59 { loop.stop() }
            }
        }
        for port in ports { loop.add(port) }
        for port in ports { port.send() }
        loop.run()
        #expect(log.entries == Array(0..<60))
        #expect(loop.counters.passes <= 2)
    }

    @Test("Three hundred sources are served in their order, also those that come while the list is long")
    func longList() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Int>()
        let pipes = (0..<300).map { _ in Ends.pipe() }
        let late = try Loop.PortSource { _ in log.add(300) }
        loop.add(late)
        for (number, pipe) in pipes.enumerated() {
            pipe.send("x")
            loop.add(
                try Loop.FileDescriptorSource(pipe.reader) { source, _ in
                    log.add(number)
                    source.invalidate()
                    if number == 170 {
                        late.send()
                        loop.wakeUp()
                    }
                })
        }
        while loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        #expect(log.entries.sorted() == Array(0...300))
        #expect(log.entries.filter { $0 < 300 } == Array(0..<300))
        withExtendedLifetime(pipes) {}
    }

    /// Two sources of one pipe, of which the first called reads all.
    ///
    /// - Parameter nested: Whether a run nested in the handler comes between.
    private func callsOfTwo(of pipe: Ends, nested: Bool = false) throws -> Int {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let calls = Count()
        for _ in 0..<2 {
            let source = try Loop.FileDescriptorSource(pipe.reader) { _, _ in
                calls.up()
                if System.isReadable(pipe.reader) { _ = pipe.take() }
                if nested { loop.run(mode: Loop.Mode("other"), for: .zero) }
            }
            loop.add(source)
        }
        // Served before: the run serves the two sources without the pass between.
        let first = try Loop.PortSource { _ in }
        loop.add(first)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in loop.stop() })
        loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: Loop.Mode("other"))
        first.send()
        pipe.send("a")
        loop.run()
        return calls.value
    }

    @Test("A handler of a descriptor that another handler has read is not called")
    func readByAnother() throws { #expect(try callsOfTwo(of: .blockingPipe()) == 1) }

    @Test("One that does not block may be called, and finds nothing")
    func readByAnotherWithoutBlocking() throws { #expect(try callsOfTwo(of: .pipe()) == 2) }

    @Test("It is not called after a nested run")
    func readByAnotherBeforeANestedRun() throws { #expect(try callsOfTwo(of: .pipe(), nested: true) == 1) }

    private struct SourceProgram: ScriptedProgram {
        enum Step {
            case send(Int), write(Int), read(Int), message(Int), remove(Int), add(Int), invalidate(Int)
            case post(script: Int), signal, run, stop, retime
        }

        /// What the sources do when they are called: the scripts in turn, each once.
        var scripts: [[Step]] = []

        init(_ seed: UInt64) {
            var random = SplitMix(seed)
            scripts = (0..<12).map { _ in (0..<random.below(6)).map { _ in Self.step(&random) } }
        }

        private static func step(_ random: inout SplitMix) -> Step {
            let source = random.below(4)
            switch random.below(26) {
            case 0..<5: return .send(source)
            case 5..<11: return .write(source)
            case 11..<14: return .message(source)
            case 14: return .remove(source)
            case 15, 16: return .add(source)
            case 17: return .invalidate(source)
            case 18, 19: return .post(script: random.below(12))
            case 20: return .signal
            case 21: return .run
            case 22: return .retime
            case 23, 24: return .read(random.below(2) * 2 + 1)
            default: return .stop
            }
        }
    }

    private final class Player: @unchecked Sendable {
        private let program: SourceProgram
        private let loop = Loop.inVirtualTime().0
        private var log: [String] = []
        private var next = 0
        private var depth = 0
        private var ports: [Loop.PortSource] = []
        private var messages: [Loop.MessagePort<Int>] = []
        private var pipes: [Ends] = []
        private var descriptors: [Loop.FileDescriptorSource] = []
        private var source: Loop.Source0!
        private var timer: Loop.Timer!

        init(_ program: SourceProgram) { self.program = program }

        /// - Parameter isObserved: Whether an observer of all activities, which does nothing, shows all passes.
        func play(isObserved: Bool) -> [String] {
            defer { loop.end() }
            if isObserved { loop.add(Loop.Observer(.all) { _, _ in }) }
            for number in 0..<4 { makeSources(number) }
            source = Loop.Source0 { [unowned self] in called("source") }
            timer = Loop.Timer(restartableAfter: .milliseconds(1)) { [unowned self] _ in called("timer") }
            let end = Loop.Timer(every: .seconds(3600)) { [unowned self] _ in loop.stop() }
            for item in [source, timer, end] as [Loop.Item] { loop.add(item) }
            for number in 0..<4 {
                perform(.send(number))
                perform(.write(number))
            }
            for _ in 0..<4 where next < 100 { loop.run() }
            for source in descriptors { source.invalidate() }
            return log
        }

        private func makeSources(_ number: Int) {
            ports.append(try! Loop.PortSource { [unowned self] in called("port \(number), \($0) sends") })
            messages.append(Loop.MessagePort<Int> { [unowned self] in called("message \($0) of \(number)") })
            // The last one does not block: another handler may have read it in vain.
            let pipe = number == 3 ? Ends.pipe() : Ends.blockingPipe()
            pipes.append(pipe)
            let call: Loop.FileDescriptorSource.Handler = { [unowned self] source, _ in
                if !System.isReadable(source.descriptor) { log.append("pipe \(number) is called for nothing") }
                // A nested run may fetch a report of this source.
                if number < 2 { perform(.run) }
                let text = System.isReadable(source.descriptor) ? readText(source.descriptor, 1) : nil
                called("pipe \(number): \(text ?? "read elsewhere")")
            }
            descriptors.append(
                number % 2 == 0
                    ? try! Loop.FileDescriptorSource(owning: System.duplicate(pipe.reader), handler: call)
                    : try! Loop.FileDescriptorSource(pipe.reader, handler: call))
            loop.add(ports[number])
            loop.add(messages[number])
            loop.add(descriptors[number])
        }

        private func called(_ what: String) {
            log.append(what)
            next += 1
            guard next < 100 else { return loop.stop() }
            for step in program.scripts[next % program.scripts.count] { perform(step) }
        }

        private func perform(_ step: SourceProgram.Step) {
            switch step {
            case .send(let number): ports[number].send()
            case .write(let number): pipes[number].send("x")
            // Of a descriptor that its source does not own.
            case .read(let number): if System.isReadable(pipes[number].reader) { _ = pipes[number].take(1) }
            case .message(let number): messages[number].send(next)
            case .remove(let number): loop.remove(descriptors[number])
            case .add(let number): loop.add(descriptors[number])
            case .invalidate(let number): (number % 2 == 0 ? ports[number] : messages[number]).invalidate()
            case .post(let script): loop.perform { [unowned self] in called("block \(script)") }
            case .signal: source.signal()
            case .retime: timer.restart()
            case .run where depth < 3:
                depth += 1
                loop.run(for: .zero)
                depth -= 1
            case .run: break
            case .stop: loop.stop()
            }
        }
    }

    private static let nothing = (0..<3).map { "pipe \($0) is called for nothing" }

    /// Whether the callouts differ, or a handler is called with nothing to read.
    private static func differs(_ program: SourceProgram) -> Bool {
        let trace = Player(program).play(isObserved: false)
        return trace != Player(program).play(isObserved: true) || trace.contains { nothing.contains($0) }
    }

    /// `RANDOM_SEED` and `RANDOM_PROGRAMS` choose other programs.
    @Test("A random program makes the same callouts whether an observer shows its passes or not")
    func sameCallouts() {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["RANDOM_SEED"].flatMap { UInt64($0) } ?? 1
        let count = environment["RANDOM_PROGRAMS"].flatMap { UInt64($0) } ?? programCount(500)
        for seed in first..<first + count {
            let program = SourceProgram(seed)
            guard Self.differs(program) else { continue }
            let small = program.shrunk(while: Self.differs)
            let traces = [false, true].map { Player(small).play(isObserved: $0) }
            let same = zip(traces[0], traces[1]).prefix { $0 == $1 }.count
            Issue.record(
                """
                seed \(seed): \(small.scripts)
                both: \(traces[0].prefix(same)); unobserved: \(traces[0].dropFirst(same).prefix(8)); \
                observed: \(traces[1].dropFirst(same).prefix(8))
                """)
            return
        }
    }
}
