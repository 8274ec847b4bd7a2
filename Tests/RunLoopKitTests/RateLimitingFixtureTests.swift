import Foundation
import TestSupport
import Testing

@testable import RunLoopKit

/// The rules against recorded answers: 200 random scenarios, exact to the millisecond.
@Suite(.timeBound) struct RateLimitingFixtureTests {
    @Test("Every scenario gives exactly the recorded invocations")
    func recordedScenarios() throws {
        let scenarios = try read(Scenario.self, "ratelimit-scenarios")
        let results = try read(Result.self, "ratelimit-results")
        #expect(scenarios.count == 200 && scenarios.map(\.id) == results.map(\.id))
        for (scenario, result) in zip(scenarios, results) {
            #expect(scenario.invocations() == result.invocations, "scenario \(scenario)")
        }
    }

    private func read<Line: Decodable>(_ type: Line.Type, _ name: String) throws -> [Line] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/\(name).jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            try JSONDecoder().decode(type, from: Data($0.utf8))
        }
    }
}

private struct Result: Decodable {
    let id: Int
    let invocations: [[Int64]]
}

private struct Scenario: Decodable {
    struct Operation: Decodable {
        let t: Int64
        let op: String
        let v: Int64?
    }

    let id: Int
    let kind: String
    let wait: Int64
    let leading: Bool?
    let trailing: Bool?
    let maxWait: Int64?
    let ops: [Operation]

    func invocations() -> [[Int64]] {
        let isThrottle = kind == "throttle"
        var edges: RateLimitEdges = []
        if leading ?? isThrottle { edges.insert(.leading) }
        if trailing ?? true { edges.insert(.trailing) }
        var play = RateLimitPlay(
            RateLimitState(isThrottle ? .throttle : .debounce(maxWait: maxWait), interval: wait, edges: edges))
        for operation in ops {
            switch operation.op {
            case "call": play.call(operation.v!, at: operation.t)
            case "flush": play.flush(at: operation.t)
            case "cancel": play.cancel(at: operation.t)
            default: Issue.record("unknown operation \(operation.op)")
            }
        }
        play.finish()
        return play.actions.map { [$0.time, $0.input] }
    }
}
