import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The demo's commands that read files, as programs, with files that are nearly valid. `FUZZ_SEED` and `FUZZ_DOCUMENTS`
/// choose other files: a tenth as many here, since each is a program's start.
@Suite(.timeBound) struct DocumentFuzzDemoTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
    private static let count = (environment["FUZZ_DOCUMENTS"].flatMap { Int($0) } ?? Int(programCount(400))) / 10

    private static let rule =
        #"{"intervalNanoseconds":2000000000,"isStatic":false,"message":"save","mode":"last","#
        + #""target":"11RunLoopDemo8DocumentC","type":"11RunLoopDemo8DocumentC"}"#
    private static let scenario =
        #"{"id":2,"kind":"debounce","wait":8,"maxWait":20,"ops":[{"t":0,"op":"call","v":4},{"t":2,"op":"flush"}]}"#

    @Test(
        "A file that is nearly valid is played, or refused in one line",
        arguments: [
            (
                ["rules", "--file"],
                ["{\"rules\":[\(rule)],\"version\":1}", "{\"rules\":[\(rule),\(rule)],\"version\":1}"]
            ),
            (["replay"], [scenario, scenario + "\n" + scenario]),
        ])
    func files(_ command: [String], _ samples: [String]) throws {
        var mutator = DocumentMutator(
            seed: DocumentFuzzDemoTests.seed, samples: samples, words: DocumentMutator.namesOfTypes)
        for number in 0..<DocumentFuzzDemoTests.count {
            let document = mutator.next()
            let file = try TemporaryFile(Data(document))
            let demo = try Demo.run(command + [file.path])
            let story =
                "document \(number) of seed \(DocumentFuzzDemoTests.seed): \(String(decoding: document, as: UTF8.self))"
            #expect(demo.status == 0 || demo.status == 65, "\(demo.status), \(demo.errors), \(story)")
            #expect(demo.errors.split(separator: "\n").count == (demo.status == 0 ? 0 : 1), "\(demo.errors), \(story)")
            let controls = (demo.output + demo.errors).unicodeScalars.filter { $0.value < 32 && $0 != "\n" }
            #expect(controls.isEmpty, "\(story)")
        }
    }
}
