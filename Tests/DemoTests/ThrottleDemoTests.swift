import Foundation
import ProgramSupport
import TestSupport
import Testing

@Suite(.timeBound) struct ThrottleDemoTests {
    private static let lanes = [
        "every call", "throttle leading", "throttle trailing", "throttle both", "debounce trailing",
        "debounce leading", "debounce maxWait",
    ]

    // MARK: For people

    @Test("The timeline has a line for each lane")
    func lineForEachLane() throws {
        let demo = try Demo.run("throttle")
        #expect(demo.status == 0 && demo.errors == "")
        let lines = demo.lines
        for lane in Self.lanes { #expect(lines.count { $0.hasPrefix(lane + " ") } == 1, "\(lane)") }
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(demo.output.contains("virtual time") && demo.output.contains("100 ms"))
        #expect(lines.contains { $0.contains("a digit instead of ● or ◆: several actions in one column") })
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("The counts beside the lanes are those of the actions")
    func laneCounts() throws {
        let lines = try Demo.run("throttle", "--seed", "5").lines
        let events = try Events("--seed", "5")
        for lane in Self.lanes {
            let line = try #require(lines.first { $0.hasPrefix(lane + " ") })
            #expect(line.hasSuffix(" \(events.actions(lane).count)"), "\(lane)")
        }
    }

    /// A minute in 80 columns: many actions share one. The marks add up to the count beside them.
    @Test("A digit counts the actions that share a column")
    func digitCountsActions() throws {
        let lines = try Demo.run("throttle", "--seconds", "60").lines
        let lane = "throttle leading"
        let words = try #require(lines.first { $0.hasPrefix(lane + " ") }).dropFirst(lane.count).split(separator: " ")
        let count = try #require(words.last.flatMap { Int($0) })
        let marks = words.dropLast().joined()
        #expect(!marks.contains("+") && marks.contains { $0.isNumber })
        #expect(marks.map { $0 == "●" ? 1 : $0.wholeNumberValue ?? 0 }.reduce(0, +) == count)
    }

    // MARK: For programs

    @Test("The same seed gives the same output")
    func sameSeed() throws {
        for format in ["text", "json"] {
            let first = try Demo.run("throttle", "--seed", "7", "--format", format)
            #expect(first.output == (try Demo.run("throttle", "--seed", "7", "--format", format)).output)
            #expect(first.output != (try Demo.run("throttle", "--seed", "8", "--format", format)).output)
        }
    }

    @Test(
        "The lanes behave as they promise",
        arguments: [("1", 100, "100ms"), ("2", 50, "50ms"), ("3", 250, "0.25s"), ("4", 1, "1000us")])
    func lanesBehave(_ seed: String, _ milliseconds: Int, _ typed: String) throws {
        let events = try Events("--seed", seed, "--interval", typed, "--seconds", "4")
        let interval = milliseconds * 1_000_000
        #expect(events.calls.map(\.value) == Array(1...events.calls.count))
        #expect(events.actions("every call").map(\.time) == events.calls.map(\.time))
        for lane in Self.lanes where lane.hasPrefix("throttle") {
            let times = events.actions(lane).map(\.time)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= interval }, "\(lane)")
        }
        // A burst ends when there is no call for an interval.
        let ends = events.calls.indices.filter { index in
            index + 1 == events.calls.count || events.calls[index + 1].time - events.calls[index].time >= interval
        }
        let last = ends.map { events.calls[$0] }
        #expect(events.actions("debounce trailing").map(\.value) == last.map(\.value))
        #expect(events.actions("debounce trailing").map(\.time) == last.map { $0.time + interval })
        let first = ([0] + ends.dropLast().map { $0 + 1 }).map { events.calls[$0] }
        #expect(events.actions("debounce leading").map(\.time) == first.map(\.time))
        for lane in ["throttle trailing", "throttle both", "debounce maxWait"] {
            #expect(Set(events.actions(lane).map(\.value)).isSuperset(of: last.map(\.value)), "\(lane)")
        }
        for call in events.calls {
            let next = events.actions("debounce maxWait").first { $0.value >= call.value }
            #expect(try #require(next).time - call.time <= 3 * interval)
        }
    }

    @Test("Lines are in the order of time")
    func linesInOrder() throws {
        let objects = try #require(try Demo.run("throttle", "--format", "json").objects)
        let times = objects.compactMap { $0["t"] as? Int }
        #expect(times.count == objects.count && times == times.sorted() && times.last! <= 3_000_000_000)
    }

    // MARK: The picture

    @Test("The picture is valid and self-contained", arguments: ["1", "3", "10", "20"])
    func validPicture(_ seconds: String) throws {
        let demo = try Demo.run("throttle", "--seconds", seconds, "--svg", "-")
        #expect(demo.status == 0 && demo.errors == "" && demo.output.hasPrefix("<?xml"))
        let elements = try XMLElements(demo.output)
        for lane in Self.lanes { #expect(elements.texts.contains(lane), "\(lane)") }
        #expect(elements.texts.contains("time in seconds") && elements.texts.contains("a throttle acts"))
        #expect(elements.count("svg") == 1 && elements.count("image") == 0 && !demo.output.contains("href"))
        // A mark for each action; the legend has two more, and two more bands.
        let events = try Events("--seconds", seconds)
        let actions = Self.lanes.map { events.actions($0).count }.reduce(0, +)
        #expect(elements.classes["mark"] == actions + 2)
        #expect(elements.classes["band"] == actions - events.calls.count + 2)
    }

    @Test("The picture is written in addition to the timeline")
    func pictureAndTimeline() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).svg")
        defer { try? FileManager.default.removeItem(at: file) }
        // A longer file at the path is replaced as a whole.
        try String(repeating: "x", count: 1_000_000).write(to: file, atomically: true, encoding: .utf8)
        let demo = try Demo.run("throttle", "--svg", file.path)
        #expect(demo.status == 0 && demo.output.contains("debounce leading") && demo.output.contains(file.path))
        let picture = try String(contentsOf: file, encoding: .utf8)
        #expect(picture == (try Demo.run("throttle", "--svg", "-")).output)
        let json = try Demo.run("throttle", "--format", "json", "--svg", file.path)
        #expect(json.objects?.isEmpty == false)
    }

    /// The picture that the documents show: `RunLoopDemo throttle --svg docs/throttle.svg`.
    @Test("The picture in the documents is up to date")
    func documentedPicture() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/throttle.svg")
        #expect(try String(contentsOf: file, encoding: .utf8) == (try Demo.run("throttle", "--svg", "-")).output)
    }

    @Test("A picture that cannot be written is reported in one line", arguments: ["/nowhere/x.svg", "/", "/dev/full"])
    func unwritablePicture(_ file: String) throws {
        let demo = try Demo.run("throttle", "--svg", file)
        #expect(demo.status == 1 && demo.output == "")
        #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains(file))
    }

    // MARK: Manners

    @Test(
        "Invalid values are reported in one line with exit code 64",
        arguments: [
            (
                "--interval",
                ["0ms", "0s", "-5ms", "5", "ms", "", "1.5", "1h", "1e3ms", "nan", "99999999999999999999s", "2 s"]
            ),
            ("--interval", ["3601s", "0.1us", "1..5s", "1.s", ".5s", "0x10ms", "１00ms"]),
            ("--seconds", ["0", "-1", "61", "many", "", "1e1", "9999999999999999999999", "0.01"]),
            ("--seed", ["-1", "x", "1.5", "99999999999999999999"]),
        ])
    func invalidValues(_ option: String, _ values: [String]) throws {
        for value in values {
            let demo = try Demo.run("throttle", option, value)
            #expect(demo.status == 64 && demo.output == "", "\(value)")
            #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains(option), "\(value)")
            #expect(demo.errors.contains(value.debugDescription), "\(value)")
        }
    }

    @Test("Times are read with their units", arguments: ["250us", "100ms", "2s", "1.5s", "1us", "3600s", "0.5ms"])
    func timesWithUnits(_ interval: String) throws {
        #expect(try Demo.run("throttle", "--interval", interval, "--seconds", "0.5").status == 0)
    }

    @Test(
        "Other bad usage is reported in one line too",
        arguments: [["--interval"], ["--svg"], ["--format", "xml"], ["more"], ["--svg", "-", "--format", "json"]])
    func otherBadUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["throttle"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        for options in [[], ["--seconds", "60", "--format", "json"], ["--svg", "-"]] {
            let demo = try Demo.runReadingOneLine(["throttle"] + options)
            #expect(demo.status == 0 && demo.errors == "")
        }
    }
}

/// The output for programs.
private struct Events {
    struct Event {
        let lane: String?
        let time: Int
        let value: Int
    }

    private let all: [Event]

    init(_ options: String...) throws {
        let demo = try Demo.run(["throttle", "--format", "json"] + options)
        all = try #require(demo.objects).map { object in
            let isCall = object["event"] as? String == "call"
            #expect(isCall != (object["lane"] is String))
            return Event(
                lane: object["lane"] as? String, time: try #require(object["t"] as? Int),
                value: try #require(object["value"] as? Int))
        }
    }

    var calls: [Event] { all.filter { $0.lane == nil } }

    func actions(_ lane: String) -> [Event] { all.filter { $0.lane == lane } }
}
