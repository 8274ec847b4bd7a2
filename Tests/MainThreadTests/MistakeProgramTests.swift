import ProgramSupport
import TestSupport
import Testing

/// Documented traps, in the build of these tests; `scripts/check` makes the same mistakes in a release build.
@Suite(.timeBound) struct MistakeProgramTests {
    @Test("Each mistake traps, and says what it is")
    func mistakes() throws {
        let environment = ["SWIFT_BACKTRACE": "enable=no"]
        let list = try Program.run("MistakeProgram", [], environment: environment)
        #expect(list.status == 0 && list.lines.count > 35)
        for line in list.lines {
            let parts = line.split(separator: "\t").map(String.init)
            let program = try Program.run("MistakeProgram", [parts[0]], environment: environment)
            #expect(program.status != 0 && program.errors.contains(parts[1]), "\(parts[0]): \(program.errors)")
        }
    }
}
