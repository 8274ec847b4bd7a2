import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Foundation and RunLoopKit on the initial thread of a program.
@Suite(.timeBound) struct BridgeTests {
    @Test("Whoever runs, everything of both is served", arguments: ["RunLoop", "bridge"])
    func services(_ runner: String) throws {
        let program = try Program.run("FoundationExample", [runner])
        let expected = [
            "@MainActor task", "CFReadStream", "CFSocket", "DispatchQueue.main", "Loop.Timer", "Loop.Timer of a Date",
            "Loop.perform",
            "Loop.run nested in a Timer",
            "NotificationQueue", "Process.terminationHandler", "Process.waitUntilExit",
            "RunLoop nested in a Loop.Timer", "RunLoop.perform", "Timer",
        ]
        #expect(program.lines == expected, "\(program.errors)")
        #expect(program.status == 0, "\(program.errors)")
    }

    @Test("A stop ends a nested run and the bridge's run")
    func stop() throws {
        let program = try Program.run("FoundationExample", ["stop"])
        #expect(
            program.lines == ["the nested run ended", "the run ended", "timedOut timedOut"], "\(program.errors)")
        #expect(program.status == 0)
    }

    @Test("A stop of the bridge's run does not end one that its handler begins afterwards")
    func stopAndRun() throws {
        let program = try Program.run("FoundationExample", ["stop-and-run"])
        #expect(program.lines == ["timedOut", "the run ended"], "\(program.errors)")
        #expect(program.status == 0)
    }

    @Test("The end of a bridge ends its run, and another one may begin")
    func end() throws {
        let program = try Program.run("FoundationExample", ["end"])
        #expect(
            program.lines == ["ended: true", "Loop.main: timedOut", "the same: true", "ended: true"],
            "\(program.errors)")
        #expect(program.status == 0)
    }

    @Test("An idle program has no wake-ups but those of its events")
    func idle() throws {
        let program = try Program.run("FoundationExample", ["idle"])
        #expect(program.lines == ["wake-ups: 0", "wake-ups: 1", "wake-ups: 2"], "\(program.errors)")
        #expect(program.status == 0)
    }

    @Test("A server that polls has wake-ups, one with a bridge has none; a signal ends both")
    func polling() throws {
        let before = try Program.run("PollingServer", ["before"], signal: SIGTERM)
        let after = try Program.run("PollingServer", ["after"], signal: SIGTERM)
        #expect(before.lines.last == "ended by the signal", "\(before)")
        #expect(!before.output.hasPrefix("wake-ups: 0,"), "\(before)")
        #expect(after.lines.last == "ended by the signal", "\(after)")
        #expect(after.output.hasPrefix("wake-ups: 0,"), "\(after)")
    }
}
