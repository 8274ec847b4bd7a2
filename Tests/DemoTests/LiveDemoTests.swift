import Foundation
import ProgramSupport
import TestSupport
import Testing

/// `throttle --live`, on a terminal of its own. The tests check the terminal's state after the program's end.
@Suite(.timeBound) struct LiveDemoTests {
    /// Ctrl-D, and keys before `q`: an arrow, a letter of two bytes, and Ctrl-Z, which the program refuses because no
    /// process could continue the leader of a session.
    @Test(
        "A quitting key ends the program and restores the terminal",
        arguments: ["q", "Q", "\u{04}", "\u{1B}[Aq", "éq", "\u{1A}q"])
    func keysEndIt(_ keys: String) throws {
        let demo = try start()
        demo.type(keys)
        #expect(demo.waitForEnd() == 0)
        expectGivenBack(demo)
    }

    /// After Ctrl-S, too, which would stop the output and hold up the loop, were it no key here.
    @Test("Control-C ends the program and restores the terminal", arguments: ["\u{03}", "\u{13}\u{03}"])
    func controlCEndsIt(_ keys: String) throws {
        let demo = try start()
        demo.type(keys)
        #expect(demo.waitForEnd() == 130)
        expectGivenBack(demo)
    }

    @Test("A signal ends the program and restores the terminal", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signalsEndIt(_ signal: Int32) throws {
        let demo = try start()
        kill(demo.processIdentifier, signal)
        #expect(demo.waitForEnd() == 128 + signal)
        expectGivenBack(demo)
    }

    @Test("Even a crash restores the terminal")
    func crashRestoresTerminal() throws {
        let demo = try start()
        kill(demo.processIdentifier, SIGQUIT)
        #expect(demo.waitForEnd() == -SIGQUIT)
        expectGivenBack(demo)
    }

    @Test("A continued program sets up the terminal again")
    func continuedProgram() throws {
        let demo = try start()
        demo.clear()
        kill(demo.processIdentifier, SIGSTOP)
        kill(demo.processIdentifier, SIGCONT)
        #expect(demo.waitUntilScreen(holds: "\u{1B}[?1049h"))
        #expect(demo.isRaw)
        demo.type("q")
        #expect(demo.waitForEnd() == 0)
        expectGivenBack(demo)
    }

    @Test("Each key makes a call that is drawn at once")
    func eachKeyIsACall() throws {
        let demo = try start()
        demo.clear()
        demo.type("x")
        // The lanes that act at once.
        #expect(demo.waitUntilScreen(holds: "●") && demo.waitUntilScreen(holds: "◆"))
        demo.type("yzq")
        #expect(demo.waitForEnd() == 0)
        #expect(demo.screen.contains("3 key presses"))
    }

    @Test("The picture fits a terminal of any size, also when the size changes")
    func terminalSizes() throws {
        let demo = try Demo.start(["throttle", "--live"], environment: [:])
        #expect(demo.waitUntilScreen(holds: "debounce maxWait"))
        for (rows, columns) in [(1, 1), (2, 300), (0, 40), (500, 0), (24, 80)] as [(UInt16, UInt16)] {
            demo.resize(rows: rows, columns: columns)
            demo.clear()
            // The heading of the next picture.
            #expect(demo.waitUntilScreen(holds: "Press keys"))
        }
        demo.type("xq")
        #expect(demo.waitForEnd() == 0)
        expectGivenBack(demo)
    }

    @Test("A terminal without escape codes does not count as a terminal", arguments: ["dumb", ""])
    func terminalWithoutEscapeCodes(_ name: String) throws {
        let demo = try Demo.start(["throttle", "--live"], environment: ["TERM": name])
        #expect(demo.waitForEnd() == 64)
        #expect(demo.screen.contains("--live needs a terminal") && !demo.screen.contains("\u{1B}"))
    }

    @Test("Without a terminal the option is a usage error")
    func noTerminal() throws {
        let demo = try Demo.run("throttle", "--live")
        #expect(demo.status == 64 && demo.output == "")
        #expect(demo.errors.contains("terminal") && demo.errors.split(separator: "\n").count == 1)
    }

    @Test(
        "Options for generated events cannot be combined with live input",
        arguments: [["--svg", "x.svg"], ["--format", "json"], ["--seed", "2"]])
    func optionsForMadeUpEvents(_ options: [String]) throws {
        let demo = try Demo.run(["throttle", "--live"] + options)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.contains(options[0]))
    }

    /// Returns when the program has drawn something.
    private func start() throws -> TerminalProgram {
        let demo = try TerminalProgram("RunLoopDemo", ["throttle", "--live"])
        #expect(!demo.isRaw || demo.screen.isEmpty)
        try #require(demo.waitUntilScreen(holds: "debounce maxWait"))
        #expect(demo.isRaw)
        return demo
    }

    private func expectGivenBack(_ demo: TerminalProgram) {
        #expect(!demo.isRaw)
        // It shows the cursor again, and the main screen.
        #expect(demo.screen.contains("\u{1B}[?25h\u{1B}[?1049l"))
    }
}
