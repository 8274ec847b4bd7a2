import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Programs that run for long, in a short form: see `EnduranceProgram`. A long run plays ten times as much.
@Suite(.timeBoundFromTheStart) struct EnduranceTests {
    private func play(_ arguments: String...) throws -> Program { try Program.run("EnduranceProgram", arguments) }

    @Test("Neither memory nor descriptors nor threads grow, and nothing is lost")
    func nothingGrows() throws {
        let (share, windows) = LongRun.isOn ? ("0.01", 80) : ("0.001", 16)
        let program = try play("--share", share, "--windows", "\(windows)", "--format", "json")
        #expect(program.status == 0, "\(program.lines.filter { $0.contains("faults") }) \(program.errors)")
        #expect(program.lines.count { $0.contains("\"faults\":[]") } == 7)
        #expect(program.lines.count == 7 * (windows + 1))
    }

    @Test("What grows is found", arguments: ["memory", "descriptor", "thread"])
    func growth(of leak: String) throws {
        let sanitizers = ["__tsan_init", "__asan_init"].contains { (symbol: String) in dlsym(nil, symbol) != nil }
        guard !sanitizers || leak != "memory" else { return }
        let program = try play("ports", "--share", "0.0001", "--windows", "16", "--plant", leak)
        #expect(program.status == 1 && program.output.contains("FAULT: "), "\(program.output)\(program.errors)")
    }

    @Test("The help says what there is")
    func help() throws {
        let program = try play("--help")
        #expect(program.status == 0 && program.output.contains("Usage: EnduranceProgram"))
    }

    @Test(
        "A command line that says nothing ends with 64 and one line",
        arguments: [
            ["years"], ["--share"], ["--share", "2"], ["--windows", "x"], ["--format", "xml"], ["--plant", "tree"],
        ])
    func badUsage(_ arguments: [String]) throws {
        let program = try Program.run("EnduranceProgram", arguments)
        #expect(program.status == 64 && program.output.isEmpty)
        #expect(program.errors.hasSuffix("(try 'EnduranceProgram --help')\n"), "\(program.errors)")
    }
}
