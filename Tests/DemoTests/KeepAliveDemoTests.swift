import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import RunLoopDemo

@Suite(.timeBound) struct KeepAliveDemoTests {
    // MARK: The jobs

    @Test("Every job runs in order on one thread that leaves nothing behind", arguments: [1, 200, 1000])
    func everyJobInOrder(_ jobs: Int) throws {
        let demo = try Demo.run("keepalive", "--jobs", "\(jobs)", "--format", "json")
        #expect(demo.status == 0 && demo.errors == "")
        let object = try #require(demo.onlyObject)
        #expect(object.keys.sorted() == KeepAliveDemoTests.keys.sorted())
        #expect(object["jobs"] as? Int == jobs && object["done"] as? Int == jobs)
        #expect(object["inOrder"] as? Bool == true && object["distinctThreads"] as? Int == 1)
        // The speed depends on the machine: the test checks only that it was measured.
        for key in ["nsPerJob", "nsPerJobInBurst", "nsPerJobThreadEach"] { #expect(object[key] as? Int ?? 0 > 0) }
        #expect(object["passesWhileIdle"] as? Int == 0 && object["waitsWhileIdle"] as? Int == 0)
        expectNothingLeftBehind(object)
    }

    @Test("The default is a thousand jobs")
    func thousandJobsByDefault() throws {
        let object = try #require(try Demo.run("keepalive", "--format=json").onlyObject)
        #expect(object["jobs"] as? Int == 1000 && object["done"] as? Int == 1000)
    }

    @Test("The story is in the order of time")
    func storyInOrderOfTime() throws {
        let demo = try Demo.run("keepalive", "--jobs", "50")
        #expect(demo.status == 0 && demo.errors == "")
        let story = [
            "started", "burst done", "idle", "one by one", "last job", "stopping", "ended", "comparing", "ns per job",
        ]
        var rest = demo.output[...]
        for event in story {
            let range = try #require(rest.range(of: event), "\(event) is missing, or too early")
            rest = rest[range.upperBound...]
        }
        #expect(demo.output.contains("all ran") && demo.output.contains("posted"))
        let times = demo.times
        #expect(times.count > 10 && times == times.sorted())
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("A job asks the kernel for its thread only when that is another one")
    func askedOnce() throws {
        let log = JobLog()
        for _ in 0..<1000 { log.noteThread() }
        #expect(log.kernelQuestions == 1 && log.threads == [KernelThread.current])
        try KernelThread.run { for _ in 0..<1000 { log.noteThread() } }
        #expect(log.kernelQuestions == 2 && log.threads.count == 2)
    }

    // MARK: The owner

    @Test("A thread ends when its owner is deallocated")
    func threadEndsWithOwner() throws {
        let demo = try Demo.run("keepalive", "--owner", "--jobs", "300", "--format", "json")
        #expect(demo.status == 0 && demo.errors == "")
        let object = try #require(demo.onlyObject)
        #expect(object["ownerGone"] as? Bool == true && object["threadEnded"] as? Bool == true)
        #expect(object["jobs"] as? Int == 300 && object["done"] as? Int == 300, "accepted before the owner went")
        expectNothingLeftBehind(object)
    }

    @Test("The owner's story is in the order of time")
    func ownerStoryInOrderOfTime() throws {
        let demo = try Demo.run("keepalive", "--owner")
        #expect(demo.status == 0 && demo.errors == "")
        let events = ["owner made", "first job", "tick", "dropped", "deinit", "thread stops", "after", "refuses"]
        for event in events { #expect(demo.output.contains(event), "\(event)") }
        let (dropped, deinited) = (demo.output.range(of: " dropped "), demo.output.range(of: " deinit "))
        #expect(try #require(dropped).upperBound < #require(deinited).lowerBound)
        let times = demo.times
        #expect(times.count > 8 && times == times.sorted())
    }

    // MARK: Command line and signals

    @Test(
        "A senseless number of jobs prints one line and exits with 64",
        arguments: ["0", "-1", "many", "1.5", "", "1000001", "99999999999999999999"])
    func badNumberOfJobs(_ jobs: String) throws {
        for arguments in [["--jobs", jobs], ["--jobs=\(jobs)"], ["--owner", "--format", "json", "--jobs", jobs]] {
            let demo = try Demo.run(["keepalive"] + arguments)
            #expect(demo.status == 64 && demo.output == "")
            #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains("--jobs"))
        }
    }

    @Test(
        "Wrong usage prints one line and exits with 64",
        arguments: [["--jobs"], ["--format", "xml"], ["--owner=yes"], ["more"]])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["keepalive"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    @Test("The help names every option")
    func help() throws {
        let demo = try Demo.run("keepalive", "--help")
        #expect(demo.status == 0 && demo.errors == "")
        for word in ["--jobs", "1000000", "--owner", "--format"] + KeepAliveDemoTests.keys {
            #expect(demo.output.contains(word), "\(word)")
        }
    }

    @Test("An interruption ends the program cleanly")
    func interruption() throws {
        // So many jobs that the program cannot end before the signal arrives.
        let demo = try Demo.run("keepalive", "--jobs", "1000000", signal: SIGINT)
        #expect(demo.status == 130 && demo.errors == "")
        #expect(demo.output.contains("as before") && demo.output.hasSuffix("done both ways.\n"))
        #expect(try Demo.run("keepalive", "--owner", "--jobs", "1000000", signal: SIGTERM).status == 143)
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        for arguments in [["keepalive"], ["keepalive", "--owner"]] {
            let demo = try Demo.runReadingOneLine(arguments)
            #expect(demo.status == 0 && demo.errors == "")
        }
    }

    // MARK: Helpers

    private static let counts = ["threadsBefore", "threadsAfter", "descriptorsBefore", "descriptorsAfter"]
    private static let keys =
        counts + [
            "jobs", "done", "inOrder", "distinctThreads", "nsPerJob", "nsPerJobInBurst", "nsPerJobThreadEach",
            "passesWhileIdle", "waitsWhileIdle",
        ]

    private func expectNothingLeftBehind(_ object: [String: Any]) {
        let counts = KeepAliveDemoTests.counts.compactMap { object[$0] as? Int }
        #expect(counts.count == 4 && counts.allSatisfy { $0 > 0 })
        #expect(object["threadsBefore"] as? Int == object["threadsAfter"] as? Int)
        #expect(object["descriptorsBefore"] as? Int == object["descriptorsAfter"] as? Int)
    }
}

extension Program {
    /// The output if it is one JSON object on one line and nothing else.
    fileprivate var onlyObject: [String: Any]? {
        guard let objects, objects.count == 1, output.hasSuffix("}\n") else { return nil }
        return objects[0]
    }

    /// The first column of a story's lines.
    fileprivate var times: [Double] {
        lines.compactMap { $0.prefixMatch(of: /\s*(\d+\.\d\d)\s.*/).flatMap { Double($0.1) } }
    }
}
