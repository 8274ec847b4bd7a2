import Foundation
import ProgramSupport
import RunLoopKit
import Supervision
import TestSupport
import Testing

/// Both ways, with real children. The back-off waits in virtual time, so no test waits for it.
@Suite(.timeBound) struct SupervisionTests {
    @Test("A program that fails is started again after longer and longer delays", arguments: Supervision.Way.allCases)
    func failing(_ way: Supervision.Way) async throws {
        let scene = try Scene()
        let task = scene.supervise(["/bin/sh", "-c", "exit 3"], by: way)
        var delays: [Duration] = []
        var starts: [Loop.Instant] = []
        for await (event, time) in scene.events {
            switch event {
            case .started: starts.append(time)
            case .ended(let exit): #expect(exit == .exited(3))
            case .waits(let delay): delays.append(delay)
            case .line: break
            }
            if delays.count == 4 { break }
        }
        task.cancel()
        try await task.value
        #expect(delays == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(starts.map { $0.nanoseconds / 1_000_000_000 } == [0, 1, 3, 7])
    }

    @Test("A program that ran for long is started again after the first delay", arguments: Supervision.Way.allCases)
    func healthy(_ way: Supervision.Way) async throws {
        let scene = try Scene(.manual)
        let task = scene.supervise(["/bin/sleep", "1000"], by: way)
        var delays: [Duration] = []
        for await (event, _) in scene.events {
            switch event {
            case .started(let process):
                if delays.count == 2 { scene.clock.advance(by: .seconds(60)) }
                kill(process, SIGKILL)
            case .ended(let exit): #expect(exit == .signalled(SIGKILL, coreDumped: false))
            case .waits(let delay):
                delays.append(delay)
                scene.clock.advance(by: delay)
            case .line: break
            }
            if delays.count == 3 { break }
        }
        task.cancel()
        try await task.value
        #expect(delays == [.seconds(1), .seconds(2), .seconds(1)])
    }

    @Test("All lines arrive before the end, also those of standard error", arguments: Supervision.Way.allCases)
    func lines(_ way: Supervision.Way) async throws {
        let scene = try Scene()
        let task = scene.supervise(["/bin/sh", "-c", "echo one; echo two >&2; printf three"], by: way)
        var lines: [String] = []
        for await (event, _) in scene.events {
            if case .line(let line) = event { lines.append(line) }
            if case .ended = event { break }
        }
        task.cancel()
        try await task.value
        #expect(lines == ["one", "two", "three"])
    }

    @Test("A cancelled supervisor lets the program clean up", arguments: Supervision.Way.allCases)
    func graceful(_ way: Supervision.Way) async throws {
        let scene = try Scene(.manual)
        let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
        let events = try await scene.eventsOfCancelled(["/bin/sh", "-c", script], by: way, grace: .seconds(3600))
        #expect(events.suffix(2) == [.line("bye"), .ended(.exited(0))])
    }

    @Test("A program that ignores SIGTERM gets SIGKILL", arguments: Supervision.Way.allCases)
    func killed(_ way: Supervision.Way) async throws {
        let scene = try Scene()
        let script = "trap '' TERM; echo ready; exec sleep 1000"
        let events = try await scene.eventsOfCancelled(
            ["/bin/sh", "-c", script], by: way,
            // In real time for swift-subprocess, in virtual time for the sources.
            grace: way == .subprocess ? .milliseconds(20) : .seconds(3600))
        #expect(events.last == .ended(.signalled(SIGKILL, coreDumped: false)))
        if way == .sources { #expect(scene.clock.now.nanoseconds == 3_600_000_000_000) }
    }

    @Test("A cancelled supervisor that waits ends at once", arguments: Supervision.Way.allCases)
    func cancelledWhileWaiting(_ way: Supervision.Way) async throws {
        let scene = try Scene(.manual)
        let task = scene.supervise(["/bin/true"], by: way)
        for await (event, _) in scene.events { if case .waits = event { break } }
        task.cancel()
        try await task.value
    }

    @Test("A supervisor that is cancelled before it begins ends", arguments: Supervision.Way.allCases)
    func cancelledBefore(_ way: Supervision.Way) async throws {
        let scene = try Scene()
        try await scene.supervise(["/bin/sleep", "1000"], by: way, isCancelled: true).value
    }

    @Test("A program that does not exist is an error", arguments: Supervision.Way.allCases)
    func missing(_ way: Supervision.Way) async throws {
        let scene = try Scene()
        await #expect(throws: (any Error).self) { try await scene.supervise(["/nonexistent"], by: way).value }
    }

    @Test("SIGTERM ends the program and the supervisor", arguments: Supervision.Way.allCases)
    func program(_ way: Supervision.Way) throws {
        let program = try Program.run("Supervise", [way.rawValue, "/bin/sleep", "1000"], signal: SIGTERM)
        #expect(program.status == 0, "\(program.errors)")
        #expect(program.lines.last?.hasSuffix("ended by signal 15") == true, "\(program.output)")
    }
}

/// A supervisor on a thread of its own, in virtual time.
private struct Scene {
    let clock: VirtualClock
    let events: AsyncStream<(Supervision.Event, Loop.Instant)>
    private let continuation: AsyncStream<(Supervision.Event, Loop.Instant)>.Continuation
    private let thread: LoopThread

    init(_ advance: VirtualClock.Advance = .automatic) throws {
        clock = VirtualClock(advance)
        thread = try LoopThread(name: "supervisor", clock: clock)
        (events, continuation) = AsyncStream.makeStream()
    }

    func supervise(
        _ command: [String], by way: Supervision.Way, grace: Duration = .seconds(5), isCancelled: Bool = false
    ) -> Task<Void, any Error> {
        let supervision = Supervision(of: command, on: thread.loop, grace: grace) {
            [continuation, loop = thread.loop] event in
            continuation.yield((event, loop.now))
        }
        return Task {
            defer { continuation.finish() }
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            try await supervision.run(by: way)
        }
    }

    /// Supervises a program and cancels that when it has written "ready".
    func eventsOfCancelled(
        _ command: [String], by way: Supervision.Way, grace: Duration = .seconds(5)
    ) async throws -> [Supervision.Event] {
        let task = supervise(command, by: way, grace: grace)
        var all: [Supervision.Event] = []
        for await (event, _) in events {
            all.append(event)
            if event == .line("ready") { task.cancel() }
        }
        try await task.value
        return all
    }
}
