import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Threads that do anything to items of every kind, on loops that start and end, for a short time; CI runs it for
/// longer. `STRESS_SECONDS` and `STRESS_SEED` override the time and the seed.
@Suite(.timeBound) struct StressTests {
    @Test("Nothing is lost or left behind, whatever threads do")
    func nothingIsLost() throws {
        let environment = ProcessInfo.processInfo.environment
        let program = try Program.run(
            "StressProgram", [environment["STRESS_SECONDS"] ?? "2", environment["STRESS_SEED"] ?? "1"])
        #expect(program.status == 0, "\(program.errors)")
    }
}
