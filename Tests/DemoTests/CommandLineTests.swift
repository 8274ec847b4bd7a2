import Foundation
import ProgramSupport
import Testing

/// The manners of the program.
@Suite struct CommandLineTests {
    @Test func helpListsTheCommands() throws {
        for arguments in ["--help", "-h", "help"] {
            let demo = try Demo.run(arguments)
            #expect(demo.status == 0 && demo.errors == "" && demo.output.contains("trace"))
            #expect(demo.output.contains("keepalive"))
        }
        let demo = try Demo.run("trace", "--help")
        #expect(demo.status == 0 && demo.output.contains("--format"))
    }

    @Test(arguments: [
        ["dance"], ["--loud"], ["trace", "--format"], ["trace", "--format", "xml"], ["trace", "more"],
        ["lines", "--debounce", "soon"], ["lines", "--debounce=-1s"], ["lines", "--debounce", "5"],
        ["lines", "--debounce=1e3s"],
        ["lines", "--debounce", "3601s"], ["lines", "--debounce", "0ms"], ["lines", "--debounce", ""],
        ["lines", "--debounce", "ms"],
    ])
    func badUsageIsOneLineAndExitCode64(_ arguments: [String]) throws {
        let demo = try Demo.run(arguments)
        #expect(demo.status == 64 && demo.output == "")
        #expect(demo.errors.split(separator: "\n").count == 1)
    }

    @Test func interruptionEndsItCleanly() throws {
        let demo = try Demo.run("trace", "--format", "json", signal: SIGINT)
        #expect(demo.status == 130 && demo.errors == "")
        let objects = try #require(demo.objects)
        #expect(objects.last?["result"] as? String == "stopped")
        #expect(try Demo.run("trace", signal: SIGTERM).status == 143)
    }

    @Test func aClosedPipeIsNoCrash() throws {
        let demo = try Demo.runReadingOneLine(["trace"])
        #expect(demo.status == 0 && demo.errors == "")
    }
}
