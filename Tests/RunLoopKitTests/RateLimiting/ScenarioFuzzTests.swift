import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDemo

/// Scenarios that are nearly valid, as `RunLoopDemo replay` reads them.
@Suite(.timeBound) struct ScenarioFuzzTests {
    @Test("No scenario does harm: it is refused with one line, or it is played to its end")
    func scenarios() async {
        await DocumentFuzzing.withReport { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                DocumentFuzzing.play(
                    ScenarioFuzzTests.samples, words: ScenarioFuzzTests.words, reportingTo: path
                ) { ScenarioFuzzTests.play($0) }
            }
        }
    }

    private static let samples = [
        #"{"id":1,"kind":"throttle","wait":5,"ops":[{"t":1,"op":"call","v":7},{"t":3,"op":"cancel"}]}"#,
        #"{"id":2,"kind":"debounce","wait":8,"maxWait":20,"leading":true,"ops":[{"t":0,"op":"call","v":4},"#
            + #"{"t":2,"op":"flush"},{"t":9,"op":"call","v":5}]}"#,
        #"{"id":3,"kind":"throttle","wait":0,"leading":false,"trailing":false,"ops":[{"t":0,"op":"call","v":1}]}"#,
    ]
    private static let words = ["call", "flush", "cancel", "debounce", "throttle", "1000000000000", "999999999999"]

    private static func play(_ document: [UInt8]) -> String? {
        do throws(MalformedLine) {
            let scenario = try Scenario(document)
            let count = Rehearsal.invocations(of: scenario).count
            // A call leads to two actions at most: one at each edge.
            return count <= 2 * scenario.operations.count ? nil : "\(count) actions"
        } catch {
            // As the demo writes it.
            return DocumentFuzzing.complaint(about: error.message.printable)
        }
    }
}
