import Foundation
import ProgramSupport
import TestSupport
import Testing

@Suite(.timeBound) struct LinesDemoTests {
    // MARK: Files

    @Test("Every line of a large file is reported, also a last line without a line feed")
    func largeFile() throws {
        let count = Int(programCount(200_000))
        let file = try TemporaryFile((1...count).map { "line \($0)" }.joined(separator: "\n"))
        let demo = try Demo.run("lines", "--format", "json", input: .file(file.path))
        #expect(demo.status == 0 && demo.errors == "")
        let lines = demo.lines
        try #require(lines.count == count + 1)
        let areAllThere = zip(1..., lines.dropLast()).allSatisfy { number, line in
            line.hasSuffix("\"event\":\"line\",\"number\":\(number),\"text\":\"line \(number)\"}")
        }
        #expect(areAllThere)
        #expect(lines[count].hasSuffix("\"event\":\"end\",\"lines\":\(count),\"reason\":\"end of input\"}"))
        let times = [lines[0], lines[count]].compactMap { $0.prefixMatch(of: /\{"t":(\d+),/).flatMap { Int($0.1) } }
        #expect(times.count == 2 && times == times.sorted())
    }

    @Test("Empty lines, invalid UTF-8 and control characters are shown")
    func unusualLines() throws {
        let file = try TemporaryFile(Data([0x61, 0xFF, 0x0A, 0x0A, 0x1B, 0x62, 0x0A]))
        let objects = try #require(try Demo.run("lines", "--format", "json", input: .file(file.path)).objects)
        #expect(objects.compactMap { $0["text"] as? String } == ["a\u{FFFD}", "", "\u{1B}b"])
        let text = try Demo.run("lines", input: .file(file.path))
        #expect(text.status == 0 && text.output.contains("\\u{1B}b") && !text.output.contains("\u{1B}"))
    }

    @Test("Unprintable characters are escaped, and nothing else")
    func unprintableIsEscaped() throws {
        let texts = ["\u{202E}gnp.exe", "\u{2066}", "\u{9B}31m", "\u{7F}", "\u{2029}", "\u{FEFF}", "\u{E0041}"]
        let harmless = "\tä 日本 👩‍👩‍👧 \u{5D0}\u{627} \\"
        let file = try TemporaryFile((texts + [harmless]).joined(separator: "\n"))
        for options in [[], ["--debounce", "90s"]] {
            let text = try Demo.run(["lines"] + options, input: .file(file.path))
            let json = try Demo.run(["lines", "--format", "json"] + options, input: .file(file.path))
            for demo in [text, json] {
                let scalars = demo.output.unicodeScalars
                #expect(texts.allSatisfy { !scalars.contains($0.unicodeScalars.first!) }, "\(demo.output)")
            }
            #expect(text.output.contains("\\u{202E}gnp.exe") && text.output.contains(harmless))
            #expect(json.output.contains(#""\u202egnp.exe""#) && json.output.contains("ä 日本 👩‍👩‍👧"))
            let read = json.objects?.flatMap { $0["lines"] as? [String] ?? [$0["text"] as? String ?? ""] }
            #expect(read?.filter { !$0.isEmpty } == texts + [harmless])
        }
    }

    @Test("An empty input ends the program at once", arguments: [[], ["--debounce", "1s"]])
    func emptyInput(_ options: [String]) throws {
        let demo = try Demo.run(["lines", "--format", "json"] + options, input: .file("/dev/null"))
        #expect(demo.status == 0 && demo.errors == "" && demo.objects?.count == 1)
        #expect(demo.objects?[0]["lines"] as? Int == 0)
    }

    @Test("An input that cannot be read prints one line and exits with 66")
    func unreadableInput() throws {
        for (input, reason) in [
            (Program.Input.closed, "is closed, or not open for reading"), (.file("/"), "Is a directory"),
        ] {
            let demo = try Demo.run("lines", "--format", "json", input: input)
            #expect(demo.status == 66 && demo.output == "")
            #expect(demo.errors.contains("standard input") && demo.errors.contains(reason))
            #expect(demo.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        let file = try TemporaryFile(String(repeating: "line\n", count: 100_000))
        let demo = try Demo.runReadingOneLine(["lines"], input: .file(file.path))
        #expect(demo.status == 0 && demo.errors == "")
    }

    // MARK: Limits

    private static let longestLine = 1 << 20

    @Test("The longest allowed line is accepted, and a longer one is named in the error")
    func longestLine() throws {
        for (length, status) in [(Self.longestLine, 0), (Self.longestLine + 1, 65)] as [(Int, Int32)] {
            for end in ["", "\n", "\nmore\n"] {
                let file = try TemporaryFile("first\n" + String(repeating: "x", count: length) + end)
                let demo = try Demo.run("lines", "--format", "json", input: .file(file.path))
                #expect(demo.status == status && demo.objects?.first?["text"] as? String == "first")
                #expect((demo.objects?.count ?? 0 > 2) == (status == 0))
                guard status != 0 else { continue }
                #expect(demo.errors == "RunLoopDemo: standard input, line 2: longer than 1048576 bytes (1 MiB)\n")
            }
        }
        #expect(try Demo.run("lines", "--help").output.contains("1048576 bytes"))
    }

    /// Half a gigabyte of zeros, of which the program reads little.
    @Test("A line without an end takes a bounded amount of memory", arguments: [[], ["--debounce", "90s"]])
    func endlessLine(_ options: [String])
        throws
    {
        let file = try TemporaryFile("first\n")
        #expect(truncate(file.path, 1 << 29) == 0)
        let demo = try Demo.run(["lines", "--format", "json"] + options, input: .file(file.path))
        #expect(demo.status == 65 && demo.lines.count == 1 && demo.output.contains("first"))
        #expect(demo.errors.contains("standard input, line 2: longer than"))
    }

    @Test("A burst that does not pause is reported once it is large")
    func burstWithoutPause() throws {
        let file = try TemporaryFile(String(repeating: "\n", count: 100_000))
        let demo = try Demo.run("lines", "--debounce", "90s", "--format", "json", input: .file(file.path))
        let bursts = (demo.objects ?? []).compactMap { $0["lines"] as? [String] }
        #expect(demo.status == 0 && bursts.count > 1 && bursts.map(\.count).reduce(0, +) == 100_000)
    }

    // MARK: Pipes

    @Test("Lines arrive while the pipe is open, however their bytes are divided")
    func linesFromOpenPipe() throws {
        let demo = try Demo.talk(["lines", "--format", "json"]) { demo in
            demo.send("a\nb")
            demo.wait(for: "\"text\":\"a\"")
            demo.send("c\nd")
            demo.wait(for: "\"text\":\"bc\"")
            // The parent process shares the open file.
            #expect(!demo.inputIsNonBlocking)
            demo.hangUp()
        }
        #expect(demo.status == 0 && demo.errors == "")
        #expect(demo.objects?.compactMap { $0["text"] as? String } == ["a", "bc", "d"])
        #expect(demo.objects?.last?["reason"] as? String == "end of input")
    }

    @Test("A burst is reported when it pauses and at the end")
    func burstIsReported() throws {
        let demo = try Demo.talk(["lines", "--format", "json", "--debounce", "20ms"]) { demo in
            demo.send("a\nb\n")
            demo.wait(for: "burst")
            demo.send("c\n")
            demo.hangUp()
        }
        let bursts = demo.objects?.filter { $0["event"] as? String == "burst" } ?? []
        #expect(demo.status == 0 && bursts.map { $0["lines"] as? [String] } == [["a", "b"], ["c"]])
        #expect(bursts.map { $0["number"] as? Int } == [1, 3])
        #expect(bursts.first?["t"] as? Int ?? 0 >= 20_000_000, "not before the pause was over")
        let flushed = try Demo.talk(["lines", "--debounce=90s"]) { demo in
            demo.send("a\nb")
            demo.hangUp()
        }
        #expect(flushed.status == 0 && flushed.output.contains("2 lines") && flushed.output.contains("end of input"))
    }

    // MARK: Signals

    @Test("Signals and lines arrive on one loop")
    func signalsAndLines() throws {
        let demo = try Demo.talk(["lines", "--format", "json"]) { demo in
            demo.send("under way\n")
            demo.wait(for: "under way")
            demo.signal(SIGWINCH)
            demo.wait(for: "SIGWINCH")
            demo.send("still there\n")
            demo.wait(for: "still there")
            demo.signal(SIGINT)
            demo.wait(for: "interrupted")
        }
        #expect(demo.status == 130 && demo.errors == "")
        let objects = try #require(demo.objects)
        #expect(objects.compactMap { $0["event"] as? String } == ["line", "signal", "line", "signal", "end"])
        #expect(objects.compactMap { $0["name"] as? String } == ["SIGWINCH", "SIGINT"])
        #expect(objects.last?["reason"] as? String == "interrupted")
    }

    @Test("An interrupted burst is reported")
    func interruptedBurst() throws {
        let demo = try Demo.talk(["lines", "--format", "json", "--debounce", "90s"]) { demo in
            // The program has reported no lines yet, but a signal.
            demo.send("a\nb\nc")
            demo.waitUntilAllIsRead()
            demo.signal(SIGWINCH)
            demo.wait(for: "SIGWINCH")
            demo.signal(SIGINT)
            demo.wait(for: "interrupted")
        }
        #expect(demo.status == 130 && demo.errors == "")
        #expect(demo.objects?.compactMap { $0["event"] as? String } == ["signal", "signal", "burst", "end"])
        #expect(demo.objects?.compactMap { $0["lines"] as? [String] } == [["a", "b"]])
    }

    @Test("SIGTERM ends the program as well")
    func termination() throws {
        let demo = try Demo.talk(["lines"]) { demo in
            demo.send("a\n")
            demo.wait(for: "line")
            demo.signal(SIGTERM)
            // Its input stays open until then.
            demo.wait(for: "interrupted after 1 line")
        }
        #expect(demo.status == 143 && demo.output.contains("interrupted after 1 line"))
    }

    // MARK: A terminal

    @Test("A terminal is read line by line")
    func terminalLineByLine() throws {
        let demo = try TerminalProgram("RunLoopDemo", ["lines", "--format", "json"])
        for text in ["hello", "there"] {
            demo.type("\(text)\n")
            #expect(demo.waitUntilScreen(holds: "\"text\":\"\(text)\""))
        }
        demo.type("\u{04}")
        #expect(demo.waitForEnd() == 0)
        #expect(demo.screen.contains("\"lines\":2,\"reason\":\"end of input\""))
    }

    @Test("Control-C and a new terminal size arrive as signals")
    func controlCAndResize() throws {
        let demo = try TerminalProgram("RunLoopDemo", ["lines"])
        #expect(demo.waitUntilScreen(holds: "what"))
        demo.resize(rows: 30, columns: 100)
        #expect(demo.waitUntilScreen(holds: "SIGWINCH") && demo.waitUntilScreen(holds: "100 columns and 30 rows"))
        demo.type("\u{03}")
        #expect(demo.waitForEnd() == 130)
        #expect(demo.screen.contains("interrupted after 0 lines"))
    }

    /// A line wakes the program in the background, which stops it; before it continues, the shell reads the line. It
    /// must not wait for another line then, because Ctrl-C would have no effect.
    @Test("Input that another process has already read does not block the program")
    func inputReadByAnother() throws {
        let script = """
            set -m
            "$0" lines & echo ready
            until [ "$(cut -d ' ' -f 3 /proc/$!/stat)" = T ]; do :; done
            read line; echo "the shell has read $line"
            fg; echo "it ended with $?"
            """
        let shell = try TerminalProgram("/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path])
        #expect(shell.waitUntilScreen(holds: "ready") && shell.waitUntilScreen(holds: "what"))
        shell.type("this\n")
        #expect(shell.waitUntilScreen(holds: "the shell has read this"))
        shell.waitUntilAnotherIsInTheForeground()
        shell.type("\u{03}")
        #expect(shell.waitUntilScreen(holds: "it ended with 130"))
        #expect(shell.waitForEnd() == 0)
    }
}
