import Foundation
import Testing

/// Programs with main threads of their own: the main loop, the main dispatch queue and the main actor.
@Suite struct MainThreadTests {
    private struct Outcome {
        let reason: Process.TerminationReason
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs a program that was built beside these tests.
    private func run(_ program: String, _ arguments: String...) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: program)
        process.arguments = arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            reason: process.terminationReason, status: process.terminationStatus,
            output: String(decoding: text, as: UTF8.self), errors: String(decoding: complaints, as: UTF8.self))
    }

    @Test func theMainQueueIsServedAsByCFRunLoop() throws {
        // Both play in real time: longer moments before a difference is believed, as in ConformanceTests.
        var (expected, actual) = (try run("MainQueueProgram", "cf", "0.05"), try run("MainQueueProgram", "kit", "0.05"))
        for moment in ["0.2", "1"] where actual.output != expected.output {
            expected = try run("MainQueueProgram", "cf", moment)
            actual = try run("MainQueueProgram", "kit", moment)
        }
        #expect(actual.status == 0 && expected.status == 0)
        #expect(!actual.output.contains("wrong thread") && actual.output.contains("queue 1"))
        #expect(actual.output.split(separator: "\n") == expected.output.split(separator: "\n"))
    }

    @Test(arguments: ["stay", "prepared"])
    func aProgramWithOnlyTheMainLoopStaysAliveForTheQueue(_ argument: String) throws {
        let outcome = try run("MainQueueProgram", argument)
        #expect(outcome.status == 0)
        #expect(outcome.output == "sync on main: true\nmain actor: true\nmain actor again: true\nstopped\n")
    }

    @Test func aProgramWithoutDispatchAndConcurrencyRuns() throws {
        let outcome = try run("PlainProgram")
        #expect(outcome.status == 0 && outcome.output == "source\nfinished\n")
    }

    @Test func theMainLoopOffTheInitialThreadTrapsAndSaysWhatToDo() throws {
        let outcome = try run("AsyncMainProgram")
        #expect(outcome.reason == .uncaughtSignal)
        #expect(outcome.errors.contains("Loop.main.run was called on a thread that is not the process's initial one"))
        #expect(outcome.errors.contains("without 'async'"))
    }
}
