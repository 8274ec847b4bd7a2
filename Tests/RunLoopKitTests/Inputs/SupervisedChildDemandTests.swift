import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// A supervised child that only the program starts again. See `SupervisedChildTests`.
@Suite(.timeBound) struct SupervisedChildDemandTests {
    private typealias Supervised = Loop.SupervisedChild
    private typealias Child = Loop.ChildProcess

    /// How a child ends.
    enum End: CaseIterable, Sendable {
        case success, failure, signal, notStarted

        func start() throws -> Loop.ChildProcess {
            switch self {
            case .success: try Child("true")
            case .failure: try Child("false")
            case .signal: try Child("sh", ["-c", "kill -KILL $$"])
            case .notStarted: throw Refusal()
            }
        }
    }

    private struct Refusal: Error {}

    /// A supervised child, and the events in words with the seconds at which they came.
    private final class Scene {
        let loop: Loop
        let log = Log<String>()
        let supervised: Loop.SupervisedChild
        private var seen = 0

        init(
            _ restarts: Loop.SupervisedChild.Restart = .onDemand, quickEndLimit: Int? = nil, period: Duration? = nil,
            start: @escaping @Sendable () throws -> Loop.ChildProcess
        ) {
            loop = Loop.inVirtualTime().0
            supervised = Supervised(
                on: loop, restarts: restarts, quickEndLimit: quickEndLimit, quickEndPeriod: period, label: "build",
                start: start)
        }

        func start(_ handle: @escaping Loop.SupervisedChild.Handler = { _, _ in }) {
            let isStarted = supervised.start { [loop, log] supervised, event in
                let seconds = Loop.Instant(nanoseconds: 0).duration(to: loop.now).components.seconds
                let words = SupervisedChildTests.describe(event)
                // Of SIGTERM and SIGKILL either may end it.
                let isOfSignal = words.hasPrefix("ended by") || words.hasPrefix("killed by")
                log.add("\(seconds): \(isOfSignal ? "killed" + words.drop { $0 != "," } : words)")
                handle(supervised, event)
                // Or the time jumps to the end of the run.
                if case .started(let child) = event { waitForEnd(of: child.process) }
            }
            #expect(isStarted)
        }

        /// - Returns: What has come.
        func run(for seconds: Int64 = 100) -> [String] {
            #expect(loop.run(mode: .default, for: .seconds(seconds)) == .timedOut, "it keeps runs going")
            defer { seen = log.entries.count }
            return Array(log.entries[seen...])
        }
    }

    /// What follows an end that comes by itself.
    enum Sequel { case pause, rest, over }

    private static let restarts: [Loop.SupervisedChild.Restart] = [.onFailure, .always, .onDemand]

    @Test("What follows each end", arguments: End.allCases, restarts)
    func table(_ end: End, _ restarts: Loop.SupervisedChild.Restart) {
        let expected: Sequel =
            switch (restarts, end) {
            case (.onDemand, _): .rest
            case (.onFailure, .success): .over
            case (.onFailure, _), (.always, _): .pause
            }
        let (scene, pauses, isOver) = (Scene(restarts, start: end.start), Log<Duration?>(), Count())
        let loop = scene.loop
        scene.start { supervised, event in
            switch event {
            case .started: break
            case .ended(_, let pause), .notStarted(_, let pause):
                pauses.add(pause)
                let isPause = supervised.description.hasSuffix("in a pause")
                #expect(isPause == (expected == .pause))
                #expect(supervised.description.hasSuffix("rests until a restart") == (expected == .rest))
                if expected != .over { loop.stop() }
            case .over(let reason):
                isOver.up()
                #expect(reason == (expected == .over ? .succeeded : .ended))
            }
        }
        scene.loop.run()
        #expect(pauses.entries == [expected == .pause ? .milliseconds(100) : nil])
        #expect(isOver.value == (expected == .over ? 1 : 0))
        #expect(scene.supervised.end(within: .zero) == (expected != .over))
        scene.loop.run()
        #expect(isOver.value == 1 && pauses.entries.count == 1)
    }

    @Test("After each end it rests until the next restart, which starts a child at once")
    func rests() {
        let starts = Count()
        let ends: [End] = [.success, .failure, .notStarted, .signal]
        let scene = Scene { try ends[starts.up() - 1].start() }
        scene.start()
        #expect(scene.run() == ["0: started", "0: exited with 0, is not restarted"])
        #expect(scene.supervised.child == nil)
        #expect(scene.supervised.description == "supervised child \"build\": rests until a restart")
        #expect(scene.supervised.restart(within: .seconds(5)))
        #expect(scene.run() == ["100: started", "100: exited with 1, is not restarted"])
        // Two are one.
        #expect(scene.supervised.restart(within: .seconds(5)) && scene.supervised.restart(within: .zero))
        #expect(scene.run() == ["200: not started: Refusal(), is not restarted"])
        #expect(scene.supervised.restart(within: .zero))
        #expect(scene.run() == ["300: started", "300: killed, is not restarted"])
        #expect(!scene.supervised.lastEndWasAskedFor && starts.value == 4)

        #expect(scene.supervised.end(within: .seconds(5)) && !scene.supervised.restart(within: .zero))
        scene.loop.run()
        #expect(scene.log.entries.last == "400: over: ended by the program" && scene.log.entries.count == 8)
    }

    @Test("A restart while it runs ends the child first, and two such are one")
    func restartsWhileRunning() {
        let starts = Count()
        let scene = Scene { try starts.up() < 3 ? Child("sleep", ["1000"]) : Child("true") }
        scene.start { supervised, event in
            switch event {
            case .started:
                guard starts.value < 3 else { break }
                #expect(supervised.restart(within: .seconds(5)) && supervised.restart(within: .zero))
            case .ended: #expect(supervised.lastEndWasAskedFor == (starts.value < 3))
            case .notStarted, .over: break
            }
        }
        #expect(
            scene.run() == [
                "0: started", "0: killed, restarts after 0.0 seconds", "0: started",
                "0: killed, restarts after 0.0 seconds", "0: started", "0: exited with 0, is not restarted",
            ])
        #expect(starts.value == 3)
    }

    @Test("It never gives up", arguments: [nil, Duration.seconds(1000), .seconds(Int64.max), .zero])
    func noLimit(_ period: Duration?) {
        let scene = Scene(quickEndLimit: 1, period: period) { try Child("false") }
        scene.start()
        for round in 0..<10 {
            #expect(scene.run(for: 1) == ["\(round): started", "\(round): exited with 1, is not restarted"])
            #expect(scene.supervised.restart(within: .zero))
        }
    }

    @Test("A restart in the handler of an end is at once")
    func restartInHandler() {
        let starts = Count()
        let scene = Scene {
            starts.up()
            return try Child("false")
        }
        scene.start { supervised, event in
            if case .ended = event, starts.value < 3 { #expect(supervised.restart(within: .zero)) }
        }
        let round = ["0: started", "0: exited with 1, is not restarted"]
        #expect(scene.run() == round + round + round)
    }

    @Test("A restart that is asked for in the closure fails if that throws")
    func failedRestart() {
        let (itself, starts) = (Log<@Sendable () -> Bool>(), Count())
        let scene = Scene {
            if starts.up() == 1 { #expect(itself.entries[0]()) }
            throw Refusal()
        }
        itself.add { [weak supervised = scene.supervised] in supervised?.restart(within: .zero) ?? false }
        scene.start()
        #expect(scene.run() == ["0: not started: Refusal(), is not restarted"])
    }

    @Test("An end, and that of the loop, end a rest, and release what its closures captured", arguments: [false, true])
    func ends(_ endsLoop: Bool) {
        let (released, overs) = (Count(), Count())
        let loop = Loop.inVirtualTime().0
        weak var last: Supervised?
        do {
            let captured = Captured(released)
            let supervised = Supervised(on: loop, restarts: .onDemand) {
                withExtendedLifetime(captured) {}
                return try Child("true")
            }
            last = supervised
            supervised.start { _, event in
                if case .started(let child) = event { waitForEnd(of: child.process) }
                if case .over = event { overs.up() }
            }
        }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(last != nil && released.value == 0, "the loop retains it")
        if endsLoop {
            loop.end()
        } else {
            last?.end(within: .seconds(1000))
            loop.run()
            #expect(loop.now == Loop.Instant(nanoseconds: 1_000_000_000), "it waits for nothing")
        }
        #expect(last == nil && released.value == 1 && overs.value == (endsLoop ? 0 : 1))
    }
}
