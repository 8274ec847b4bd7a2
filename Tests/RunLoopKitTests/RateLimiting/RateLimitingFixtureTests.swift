import Foundation
import TestSupport
import Testing

@testable import RunLoopDemo
@testable import RunLoopKit

/// The rules against recorded answers: 200 random scenarios, exact to the millisecond. The demo's `replay` reads and
/// writes the recorded format.
@Suite(.timeBound) struct RateLimitingFixtureTests {
    @Test("Every scenario gives exactly the recorded invocations")
    func recordedScenarios() throws {
        let scenarios = try lines(of: "ratelimit-scenarios").map { try Scenario(Array($0.utf8)) }
        let results = try lines(of: "ratelimit-results")
        #expect(scenarios.count == 200 && results.count == 200)
        for (scenario, result) in zip(scenarios, results) {
            #expect(JSONReplayWriter().text(of: scenario, invocations(of: scenario)) == result + "\n")
        }
    }

    private func lines(of fixture: String) throws -> [Substring] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/\(fixture).jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }

    /// Plays a scenario on the rules alone.
    private func invocations(of scenario: Scenario) -> [Rehearsal.Invocation] {
        var play = RateLimitPlay(scenario.state)
        for operation in scenario.operations {
            switch operation.event {
            case .call(let argument): play.call(argument, at: operation.time)
            case .flush: play.flush(at: operation.time)
            case .cancel: play.cancel(at: operation.time)
            }
        }
        play.finish()
        return play.actions.map { Rehearsal.Invocation(time: $0.time, argument: $0.input) }
    }
}
