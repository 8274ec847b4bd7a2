import Foundation
import ProgramSupport
import TestSupport
import Testing

@Suite(.timeBound) struct ReplayDemoTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../RunLoopKitTests/Fixtures")
    private static let scenarios = fixtures.appending(path: "ratelimit-scenarios.jsonl")
    private static let results = fixtures.appending(path: "ratelimit-results.jsonl")

    private static let good = #"{"id":1,"kind":"throttle","wait":5,"ops":[{"t":1,"op":"call","v":7}]}"#
    private static let goodResult = #"{"id":1,"invocations":[[1,7]]}"#

    // MARK: Results

    @Test("The recorded results are reproduced byte for byte")
    func recordedResults() throws {
        let expected = try String(contentsOf: Self.results, encoding: .utf8)
        let demo = try Demo.run("replay", Self.scenarios.path, "--format", "json")
        #expect(demo.status == 0 && demo.errors == "" && demo.output == expected)
        let piped = try Demo.run(["replay", "-", "--format", "json"], input: .file(Self.scenarios.path))
        #expect(piped.status == 0 && piped.output == expected)
    }

    @Test("The text form shows the policy and the counts")
    func textShowsCounts() throws {
        let demo = try replay(
            #"{"id":3,"kind":"debounce","wait":8,"maxWait":20,"ops":[{"t":0,"op":"call","v":4},{"t":2,"op":"flush"}]}"#
                + "\n" + #"{"id":4,"kind":"throttle","wait":5,"leading":false,"trailing":false,"ops":[]}"#,
            format: "text")
        #expect(demo.status == 0 && demo.errors == "")
        #expect(demo.output.contains("#3  debounce 8 ms, trailing, maxWait 20 ms: 1 action for 1 call\n"))
        #expect(demo.output.contains("came   4@0  flush@2\n    acted  4@2\n"))
        #expect(
            demo.output.contains("#4  throttle 5 ms, no edges: 0 actions for 0 calls\n    came   -\n    acted  -\n"))
        #expect(demo.lines.last == "2 scenarios: 1 action for 1 call, 1 flush.")
    }

    @Test("Text lines fit the width")
    func linesFitWidth() throws {
        let demo = try Demo.run("replay", Self.scenarios.path)
        #expect(demo.lines.allSatisfy { $0.count <= 80 } && demo.output.contains(" more\n"))
        #expect(demo.lines.last?.contains("200 scenarios") == true)
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("Empty lines are skipped, and the last line needs no end")
    func emptyLines() throws {
        let demo = try replay("\n  \n\(Self.good)\r\n\n\(Self.good)")
        #expect(demo.status == 0 && demo.output == "\(Self.goodResult)\n\(Self.goodResult)\n")
        #expect(try replay("").output == "")
        #expect(try replay("\n\n", format: "text").output == "No scenario in the input.\n")
    }

    @Test("Defaults apply, and other members are ignored")
    func defaultsAndOtherMembers() throws {
        let ops = #""ops":[{"t":0,"op":"call","v":-1,"who":"x"},{"t":1,"op":"call","v":9223372036854775807}]"#
        let demo = try replay(
            #"{"note":[1.5],"id":-1,"kind":"throttle","wait":5,\#(ops)}"# + "\n"
                + #"{"id":2,"kind":"debounce","wait":5,"leading":null,\#(ops)}"#)
        #expect(demo.errors == "")
        #expect(
            demo.output == """
                {"id":-1,"invocations":[[0,-1],[5,9223372036854775807]]}
                {"id":2,"invocations":[[6,9223372036854775807]]}

                """)
    }

    @Test("The longest times are played")
    func longestTimes() throws {
        let demo = try replay(
            #"{"id":1,"kind":"debounce","wait":1000000000000,"ops":[{"t":1000000000000,"op":"call","v":1}]}"#)
        #expect(demo.output == "{\"id\":1,\"invocations\":[[2000000000000,1]]}\n")
    }

    // MARK: Malformed lines

    @Test(
        "A malformed line is named, and the results before it are written",
        arguments: [
            ("{", "not JSON"), ("null", "null"), ("[]", "object"), ("7", "object"), ("{}", "\"id\""),
            (#"{"id":"x"}"#, "\"id\""), (#"{"id":true,"kind":"throttle","wait":1,"ops":[]}"#, "\"id\""),
            (#"{"id":1,"kind":"jump","wait":1,"ops":[]}"#, "\"jump\""),
            (#"{"id":1,"kind":1,"wait":1,"ops":[]}"#, "\"kind\""),
            (#"{"id":1,"kind":"throttle","wait":1.5,"ops":[]}"#, "\"wait\""),
            (#"{"id":1,"kind":"throttle","wait":NaN,"ops":[]}"#, "not JSON"),
            (#"{"id":1,"kind":"throttle","wait":1e400,"ops":[]}"#, "1e400"),
            (#"{"id":1,"kind":"throttle","wait":99999999999999999999,"ops":[]}"#, "64 bits"),
            (#"{"id":1,"kind":"throttle","wait":9223372036854775807,"ops":[]}"#, "9223372036854775807"),
            (#"{"id":1,"kind":"throttle","wait":-1,"ops":[]}"#, "less than zero"),
            (#"{"id":1,"kind":"throttle","wait":1,"maxWait":1,"ops":[]}"#, "\"maxWait\""),
            (#"{"id":1,"kind":"debounce","wait":1,"maxWait":-1,"ops":[]}"#, "\"maxWait\""),
            (#"{"id":1,"kind":"throttle","wait":1,"leading":1,"ops":[]}"#, "\"leading\""),
            (#"{"id":1,"kind":"throttle","wait":1,"trailing":"no","ops":[]}"#, "\"trailing\""),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":{}}"#, "array"),
            (#"{"id":1,"kind":"throttle","wait":1}"#, "\"ops\""),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[7]}"#, "\"ops\"[0]"),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[{"t":0,"op":"dance"}]}"#, "\"dance\""),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[{"t":0,"op":"call"}]}"#, "\"v\""),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[{"t":0,"op":"call","v":1e30}]}"#, "\"ops\"[0].\"v\""),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[{"t":-2,"op":"flush"}]}"#, "less than zero"),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[{"t":5,"op":"flush"},{"t":4,"op":"flush"}]}"#, "earlier"),
            (#"{"id":1,"kind":"throttle","wait":1,"ops":[]} x"#, "not JSON"),
        ])
    func malformedLine(_ line: String, _ complaint: String) throws {
        let demo = try replay("\(Self.good)\n\n\(line)\n\(Self.good)\n")
        #expect(demo.status == 65 && demo.output == Self.goodResult + "\n")
        #expect(demo.errors.contains("line 3: ") && demo.errors.contains(complaint), "\(demo.errors)")
        #expect(demo.errors.split(separator: "\n").count == 1)
    }

    @Test("A half line at the end is malformed")
    func halfLineAtEnd() throws {
        let demo = try replay(Self.good + "\n" + Self.good.prefix(20))
        #expect(demo.status == 65 && demo.output == Self.goodResult + "\n" && demo.errors.contains("line 2: "))
        #expect(try replay(#"{"id":1,"kind":"\#u{FFFD}"#).status == 65)
    }

    @Test("The text form shows the scenarios before a malformed line")
    func textBeforeMalformedLine() throws {
        let demo = try replay("\(Self.good)\n{\n", format: "text")
        #expect(demo.status == 65 && demo.output.contains("1 action for 1 call") && demo.output.hasSuffix("7@1\n"))
    }

    @Test("Nothing is written before a malformed first line")
    func malformedFirstLine() throws {
        for format in ["text", "json"] {
            let demo = try replay("\n{\n\(Self.good)\n", format: format)
            #expect(demo.status == 65 && demo.output == "" && demo.errors.contains("line 2: "))
        }
    }

    // MARK: Streaming

    @Test("Results come while the input stays open")
    func resultsWhileOpen() throws {
        let demo = try Demo.talk(["replay", "-", "--format", "json"]) { demo in
            for count in 1...3 {
                // A line comes in two pieces.
                demo.send(String(Self.good.prefix(30)))
                demo.send(Self.good.dropFirst(30) + "\n")
                demo.wait(for: String(repeating: Self.goodResult + "\n", count: count))
            }
            #expect(demo.heard.count == 3 * (Self.goodResult.utf8.count + 1))
        }
        #expect(demo.status == 0 && demo.errors == "" && demo.lines == Array(repeating: Self.goodResult, count: 3))
    }

    @Test("An interruption ends it while it waits for input", arguments: [SIGINT, SIGTERM]) func interruption(
        _ signal: Int32
    ) throws {
        let demo = try Demo.talk(["replay", "-", "--format", "json"]) { demo in
            demo.send(Self.good + "\n")
            demo.wait(for: Self.goodResult)
            demo.signal(signal)
            // It ends although its input does not.
            demo.wait(for: "more than it says")
        }
        #expect(demo.status == 128 + signal && demo.errors == "" && demo.lines == [Self.goodResult])
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        let file = try TemporaryFile(String(repeating: Self.good + "\n", count: 5000))
        for options in [[], ["--format", "json"]] {
            let demo = try Demo.runReadingOneLine(["replay", file.path] + options)
            #expect(demo.status == 0 && demo.errors == "")
        }
    }

    // MARK: Manners

    @Test("The help's example works as described")
    func helpExample() throws {
        let help = try Demo.run("replay", "--help")
        let examples = help.lines.filter { $0.contains("\"kind\":") }
        #expect(examples.count == 1 && examples[0].count <= 80)
        let demo = try replay(examples[0])
        #expect(demo.status == 0 && demo.errors == "" && help.output.contains(demo.output.dropLast()))
    }

    @Test("An unreadable file is reported in one line with exit code 66", arguments: ["/nowhere/x.jsonl", "/"])
    func unreadableFile(_ file: String) throws {
        let demo = try Demo.run("replay", file, "--format", "json")
        #expect(demo.status == 66 && demo.output == "")
        #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains(file.debugDescription))
    }

    @Test("Closed standard input is reported in one line with exit code 66", arguments: [[], ["--format", "json"]])
    func closedStandardInput(_ options: [String])
        throws
    {
        let demo = try Demo.run(["replay", "-"] + options, input: .closed)
        #expect(demo.status == 66 && demo.output == "")
        #expect(demo.errors == "RunLoopDemo: standard input is closed, or not open for reading\n")
    }

    @Test(
        "Bad usage is reported in one line with exit code 64",
        arguments: [[], ["a", "b"], ["a", "--format", "xml"], ["a", "--seed", "1"]])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["replay"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    // MARK: Helpers

    private func replay(_ text: String, format: String = "json") throws -> Program {
        let file = try TemporaryFile(text)
        return try Demo.run("replay", file.path, "--format", format)
    }
}
