import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The command line, errors and signals of the program.
@Suite(.timeBound) struct CommandLineTests {
    @Test("The help lists all commands")
    func helpListsCommands() throws {
        for arguments in ["--help", "-h", "help"] {
            let demo = try Demo.run(arguments)
            #expect(demo.status == 0 && demo.errors == "" && demo.output.contains("trace"))
            #expect(demo.output.contains("keepalive"))
        }
        let demo = try Demo.run("trace", "--help")
        #expect(demo.status == 0 && demo.output.contains("--format"))
    }

    @Test(
        "Wrong usage prints one line and exits with 64",
        arguments: [
            ["dance"], ["--loud"], ["help", "trace", "more"], ["--help", "more"], [""], ["-"], ["--", "trace"],
            ["trace", "--format"], ["trace", "--format", "xml"], ["trace", "more"],
            ["lines", "--debounce", "soon"], ["lines", "--debounce=-1s"], ["lines", "--debounce", "5"],
            ["lines", "--debounce=1e3s"], ["stall", "--format"], ["stall", "now"],
            ["lines", "--debounce", "3601s"], ["lines", "--debounce", "0ms"], ["lines", "--debounce", ""],
            ["lines", "--debounce", "ms"], ["feedback", "--threshold", "1"], ["feedback", "more"],
        ])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(arguments)
        #expect(demo.status == 64 && demo.output == "")
        #expect(demo.errors.split(separator: "\n").count == 1)
    }

    /// Repaired, it would name another file.
    @Test("An argument that is not UTF-8 prints one line and exits with 64")
    func argumentNotUTF8() throws {
        for words in ["'a\\377b'", "replay '\\377'", "rules --file '/nowhere/\\377'"] {
            let script = "eval \"set -- $(printf \"$1\")\"; exec \"$0\" \"$@\""
            let demo = try Program.run("/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path, words])
            #expect(demo.status == 64 && demo.output == "" && demo.errors.contains("not UTF-8"), "\(demo.errors)")
            #expect(demo.errors.split(separator: "\n").count == 1)
        }
    }

    /// A character that reverses the direction of text, one that clears the screen, an invisible one, a line break.
    @Test(
        "Messages escape unprintable characters",
        arguments: ["\u{202E}", "\u{1B}c", "\u{9B}2J", "\u{FEFF}", "\n", "\u{2028}"])
    func unprintableIsEscaped(_ text: String) throws {
        let commands = [
            ["a\(text)"], ["help", text], ["trace", text], ["trace", "--\(text)"], ["trace", "--format", text],
            ["lines", "--debounce", text], ["keepalive", "--jobs", text], ["replay", "/nowhere/\(text)"],
            ["rules", "--file", "/dev/null/\(text)"], ["throttle", "--svg", "/nowhere/\(text)"],
            ["feedback", "--output", "/nowhere/\(text)"], ["feedback", "--threshold", text],
        ]
        for command in commands {
            let demo = try Demo.run(command)
            #expect(demo.status != 0 && demo.output == "" && demo.errors.hasSuffix("\n"), "\(command)")
            #expect(!demo.errors.dropLast().contains(text) && demo.errors.contains("\\"), "\(demo.errors)")
        }
    }

    @Test("A long message is truncated")
    func longMessageIsCut() throws {
        let demo = try Demo.run(String(repeating: "x", count: 100_000))
        #expect(demo.status == 64 && demo.errors.count < 1100 && demo.errors.hasSuffix("…\n"))
    }

    @Test("A program that a test starts inherits nothing but the standard streams")
    func inheritsNothing() throws {
        #expect(try Program.run("/bin/sh", ["-c", "ls /proc/$$/fd"]).lines == ["0", "1", "2"])
    }

    /// So few that every attempt to open one can fail.
    @Test("Too few descriptors print one line and fail", arguments: Demo.subcommands)
    func tooFewDescriptors(_ arguments: [String]) throws {
        var failures = 0
        for limit in stride(from: 4, to: 24, by: LongRun.isOn ? 1 : 2) {
            let script = "ulimit -n \(limit); exec \"$0\" \"$@\""
            let demo = try Program.run(
                "/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path] + arguments,
                // LeakSanitizer needs descriptors of its own.
                environment: ["SWIFT_BACKTRACE": "enable=no", "ASAN_OPTIONS": "detect_leaks=0"])
            // The loader has ended the program, or the program could not read a file.
            guard ![127, 66].contains(demo.status) else { continue }
            // On a busy machine the thread that looks for stalls may not run in time.
            guard !demo.errors.contains("no stall was reported") else { continue }
            #expect([0, 1].contains(demo.status), "\(limit): \(demo.errors)")
            #expect((demo.status == 1) == demo.errors.contains("Too many open files"), "\(limit): \(demo.errors)")
            #expect(demo.errors.split(separator: "\n").count == Int(demo.status))
            failures += Int(demo.status)
        }
        #expect(failures > 0)
    }

    @Test("An interruption ends the trace cleanly")
    func interruption() throws {
        let demo = try Demo.run("trace", "--format", "json", signal: SIGINT)
        #expect(demo.status == 130 && demo.errors == "")
        let objects = try #require(demo.objects)
        // On a slow machine the run may be over by its time.
        #expect(objects.last?["event"] as? String == "result")
        let text = try Demo.run("trace", signal: SIGTERM)
        #expect(text.status == 143, "\(text.status), \(text.errors)")
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        let demo = try Demo.runReadingOneLine(["trace"])
        #expect(demo.status == 0 && demo.errors == "")
    }
}
