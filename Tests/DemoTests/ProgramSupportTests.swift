import ProgramSupport
import TestSupport
import Testing

/// The support code with which these tests run programs.
@Suite(.timeBound) struct ProgramSupportTests {
    /// Otherwise the end of one program's input or output would wait for the end of another program.
    @Test("Programs do not inherit each other's pipes")
    func pipesAreNotInherited() throws {
        var other: TerminalProgram?
        let demo = try Demo.talk(["lines", "--format", "json"]) { demo in
            demo.send("x\n")
            demo.wait(for: "\"x\"")
            other = try? TerminalProgram("RunLoopDemo", ["lines"])
            demo.hangUp()
            demo.wait(for: "end of input")
        }
        #expect(demo.status == 0 && demo.lines.count == 2)
        let second = try #require(other)
        #expect(second.waitUntilScreen(holds: "what"))
        second.type("\u{04}")
        #expect(second.waitForEnd() == 0)
    }
}
