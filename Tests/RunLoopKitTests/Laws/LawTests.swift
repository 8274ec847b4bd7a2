import Foundation
import TestSupport
import Testing

@testable import RunLoopKit

/// Random programs over every kind of item, in any number of modes and loops, and the laws that hold after each step.
///
/// The long run of `scripts/check` plays enough of them that every combination comes up, `swift test` a few.
///
/// In a process of its own, in which no other test opens descriptors, and whose trap ends no other test. `LAW_SEED` and
/// `LAW_PROGRAMS` choose other programs, `LAW_FAILURES` how many may fail before it ends; `LAW_WHOLE` does not shrink
/// them.
@Suite(.timeBoundFromTheStart) struct LawTests {
    @Test("The laws hold after every random program")
    func lawsHold() async {
        // A file, because an exit test does not show the output of a process that fails.
        let report = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: report) }
        await #expect(processExitsWith: .success) { [report = report as String] in
            LawTests.playAll(reportingTo: report)
        }
        // Not `String(contentsOfFile:)`: it leaks when the file is empty.
        let text = FileHandle(forReadingAtPath: report)?.readDataToEndOfFile() ?? Data()
        if !text.isEmpty { print(String(decoding: text, as: UTF8.self)) }
    }

    private struct Report {
        let handle: FileHandle

        init(_ path: String) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            handle = FileHandle(forWritingAtPath: path)!
        }

        func say(_ line: String) { handle.write(Data("\(line)\n".utf8)) }

        /// Reports the program that plays now. SIGALRM ends one that hangs: a program takes some milliseconds.
        func begin(_ seed: UInt64) {
            alarm(120)
            try! handle.truncate(atOffset: 0)
            say("The program of seed \(seed) trapped or hung. LAW_SEED=\(seed) LAW_VERBOSE=1 prints it.")
        }
    }

    private static func playAll(reportingTo path: String) {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["LAW_PROGRAMS"].flatMap { Int($0) } ?? Int(programCount(3 * UInt64(LawGenerator.round)))
        let first = environment["LAW_SEED"].flatMap { UInt64($0) } ?? 1
        let mostFailures = environment["LAW_FAILURES"].flatMap { Int($0) } ?? 1
        let report = Report(path)
        signal(SIGPIPE, SIG_IGN)
        _ = LawPlayer.play(LawGenerator.program(first))  // Creates what the process creates only once.
        var coverage = LawCoverage()
        var failures: [String] = []
        var programs = 0
        while failures.count < mostFailures {
            let seed = first + UInt64(programs)
            // Combinations that neighbouring steps have prevented are targets again.
            let rest = programs < count || count < LawGenerator.round ? nil : coverage.missing
            if programs >= count, rest?.isEmpty ?? true || programs > count + LawGenerator.round / 6 { break }
            programs += 1
            report.begin(seed)
            let program = LawGenerator.program(seed, aimingAt: rest)
            if environment["LAW_VERBOSE"] != nil { report.say("\(program)") }
            let (violation, covered) = LawPlayer.play(program)
            coverage.add(covered)
            guard let violation else { continue }
            alarm(0)
            let isKept = environment["LAW_WHOLE"] != nil
            let small = isKept ? program : program.shrunk(while: { LawPlayer.play($0).violation != nil })
            let story = LawPlayer.play(small, records: true).violation ?? "It did not fail again."
            failures.append("seed \(seed): \(violation)\n\(small)\n\(story)")
        }
        alarm(0)
        try! report.handle.truncate(atOffset: 0)
        for failure in failures { report.say(failure) }
        if environment["LAW_TABLE"] != nil { report.say(coverage.table) }
        let missing = count < LawGenerator.round || !failures.isEmpty ? [] : coverage.missing
        if !missing.isEmpty {
            report.say("\(missing.count) of \(LawCoverage.cells.count) combinations never came up:")
            for cell in missing { report.say("\(cell)") }
        }
        if !failures.isEmpty || !missing.isEmpty { exit(1) }
    }
}
