import Foundation
import ProgramSupport
import TestSupport
import Testing

/// `RunLoopDemo stall`.
@Suite(.timeBound) struct StallDemoTests {
    @Test("The three stories are told in order, each with its reports and its lesson")
    func storyInOrder() throws {
        let demo = try Demo.run("stall")
        #expect(demo.status == 0 && demo.errors == "")
        let told = [
            "1. A handler that blocks", "stalled", "'editor'", "3 blocks wait behind it", "continues", "metrics",
            "belongs on another thread",
            "2. A handler that computes", "stalled", "'chess'", "1 source waits behind it", "continues", "in portions",
            "3. Two threads that wait for each other", "stalled", "'left'", "1 block", "stalled", "'right'", "1 block",
            "continues", "continues", "must not wait",
        ]
        var rest = demo.output[...]
        for event in told {
            let range = try #require(rest.range(of: event), "\(event) is missing, or too early")
            rest = rest[range.upperBound...]
        }
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("Each stall is reported once, and ends")
    func objects() throws {
        let demo = try Demo.run("stall", "--format", "json")
        #expect(demo.status == 0 && demo.errors == "")
        let objects = try #require(demo.objects)
        let events = objects.map { "\($0["story"] ?? "") \($0["event"] ?? "") \($0["loop"] ?? "")" }
        #expect(
            events == [
                "blocks stalled editor", "blocks continues editor", "blocks metrics editor",
                "computes stalled chess", "computes continues chess", "computes metrics chess",
                "deadlock stalled left", "deadlock stalled right", "deadlock continues left",
                "deadlock continues right", "deadlock metrics left", "deadlock metrics right",
            ])
        for object in objects where object["event"] as? String != "metrics" {
            #expect(object["ns"] as? Int ?? 0 >= 100_000_000)
        }
        let stalled = objects.filter { $0["event"] as? String == "stalled" }
        #expect(stalled.map { $0["kind"] as? String } == ["block", "timer", "block", "block"])
        #expect(stalled.map { $0["blocks"] as? Int } == [3, 0, 1, 1])
        #expect(stalled.map { $0["sources"] as? Int } == [0, 1, 0, 0])
        #expect(stalled.allSatisfy { $0["mode"] as? String == "default" && $0["nesting"] as? Int == 0 })
    }

    /// A thread that a sanitizer or a busy machine keeps from answering in time has no backtrace.
    @Test("The backtraces name the functions that stall", .enabled(if: !isUnderThreadSanitizer))
    func backtraces() throws {
        let expected = ["Letter.save()", "Game.findBestMove()", "Partner.ask"]
        var missing = expected
        for _ in 1...20 where !missing.isEmpty {
            let objects = try #require(try Demo.run("stall", "--format", "json").objects)
            let functions = objects.flatMap { $0["functions"] as? [String] ?? [] }
            missing.removeAll { name in functions.contains { $0.hasPrefix(name) } }
            #expect(!functions.contains { $0.contains("RunLoopDemo.") || $0.contains("thunk") })
        }
        #expect(missing == [])
    }

    @Test("Wrong usage prints one line and exits with 64", arguments: [["--format", "xml"], ["more"], ["--fast"]])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["stall"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    @Test("The help names the option and what the objects hold")
    func help() throws {
        let demo = try Demo.run("stall", "--help")
        #expect(demo.status == 0 && demo.errors == "")
        for word in ["--format", "deadlock", "functions", "awakeNs"] {
            #expect(demo.output.contains(word), "\(word)")
        }
    }

    @Test("An interruption ends the program cleanly, while handlers stall")
    func interruption() throws {
        let demo = try Demo.run("stall", signal: SIGINT)
        #expect(demo.status == 130 && demo.errors == "")
        #expect(try Demo.run("stall", signal: SIGTERM).status == 143)
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        let demo = try Demo.runReadingOneLine(["stall"])
        #expect(demo.status == 0 && demo.errors == "")
    }
}
