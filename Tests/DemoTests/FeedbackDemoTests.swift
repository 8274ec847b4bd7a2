import Foundation
import ProgramSupport
import TestSupport
import Testing

@Suite(.timeBound) struct FeedbackDemoTests {
    private static let circle = ["bar.invalidate", "bar.layout", "picture.invalidate", "picture.layout"]

    // MARK: For people

    @Test("The circle is caught, explained and broken, and a layout without one comes to rest")
    func story() throws {
        let demo = try Demo.run("feedback", environment: ["COLUMNS": "200"])
        #expect(demo.status == 0 && demo.errors == "")
        #expect(demo.output.contains("bar.invalidate → bar.layout → picture.invalidate → picture.layout →"))
        #expect(demo.lines.count { $0.contains("feedback loop: bar.invalidate") } == 2)
        #expect(demo.lines.count { $0.contains("was called 100 times in one pass, in mode default at beforeW") } == 2)
        #expect(demo.lines.count { $0.contains("the cycle is broken") } == 2)
        #expect(demo.lines.count { $0.contains("at rest after") } == 1)
        let drawn = demo.lines.filter { ["┌▶", "│ ", "└─"].contains(String($0.drop { $0 == " " }.prefix(2))) }
        #expect(drawn.map { String($0.split(separator: " ").last!) } == Self.circle + Self.circle)
        #expect(demo.lines.contains { $0.hasPrefix("2 reports, one for each pass") })
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("Without the mistake there is nothing to report")
    func mendedStory() throws {
        let demo = try Demo.run("feedback", "--mended", "--threshold", "10")
        #expect(demo.status == 0 && demo.errors == "")
        #expect(demo.lines.count { $0.contains("at rest after") } == 3)
        #expect(!demo.output.contains("feedback loop:") && demo.output.contains("No report"))
        #expect(demo.lines.allSatisfy { $0.count <= 80 })
    }

    // MARK: For programs

    @Test("Each line is an object: a layout, or the report on it")
    func objects() throws {
        let demo = try Demo.run("feedback", "--format", "json")
        let objects = try #require(demo.objects)
        #expect(demo.status == 0 && demo.errors == "")
        #expect(objects.map { $0["event"] as? String } == ["layout", "report", "layout", "layout", "report"])
        let times = objects.compactMap { $0["t"] as? Int }
        #expect(times == [0, 0, 1_000_000_000, 2_000_000_000, 2_000_000_000])
        for report in objects.filter({ $0["event"] as? String == "report" }) {
            #expect(report["step"] as? String == "bar.invalidate" && report["count"] as? Int == 100)
            #expect(report["activity"] as? String == "beforeWaiting" && report["mode"] as? String == "default")
            #expect(report["cycle"] as? [String] == Self.circle)
            #expect((report["rounds"] as? Int ?? 0) > 90)
            #expect(report["callers"] as? [String] == Array(repeating: "picture.layout", count: 8))
        }
        let layouts = objects.filter { $0["event"] as? String == "layout" }
        #expect(layouts.map { $0["cause"] as? String } == ["open", "enlarge", "shrink"])
        #expect((layouts[1]["calls"] as? Int ?? 0) < 50 && (layouts[0]["calls"] as? Int ?? 0) > 350)
    }

    @Test("The mended window is laid out as it would be at rest")
    func mendedObjects() throws {
        let objects = try #require(try Demo.run("feedback", "--mended", "--format", "json").objects)
        #expect(objects.map { $0["event"] as? String } == ["layout", "layout", "layout"])
        #expect(objects.map { $0["pictureHeight"] as? Int } == [168, 180, 168])
        #expect(objects.map { $0["barWidth"] as? Int } == [16, 0, 16])
        #expect(objects.allSatisfy { ($0["calls"] as? Int ?? 99) < 50 })
    }

    @Test("The threshold decides how long the circle runs", arguments: [2, 10, 250, 1000])
    func threshold(_ threshold: Int) throws {
        let demo = try Demo.run("feedback", "--threshold", "\(threshold)", "--format", "json")
        let reports = try #require(demo.objects).filter { $0["event"] as? String == "report" }
        #expect(!reports.isEmpty && reports.allSatisfy { $0["count"] as? Int == threshold })
        #expect(reports.allSatisfy { $0["threshold"] as? Int == threshold })
    }

    // MARK: The picture

    @Test("The picture is valid, self-contained, and shows the circle", arguments: [[], ["--mended"]])
    func picture(_ options: [String]) throws {
        let demo = try Demo.run(["feedback", "--output", "-"] + options)
        #expect(demo.status == 0 && demo.errors == "" && demo.output.hasPrefix("<?xml"))
        let elements = try XMLElements(demo.output)
        #expect(elements.count("svg") == 1 && elements.count("image") == 0 && !demo.output.contains("href"))
        #expect(elements.classes["box"] == (options.isEmpty ? 4 : nil))
        #expect(elements.texts.isSuperset(of: Self.circle))
        #expect(elements.texts.contains(options.isEmpty ? "95 rounds" : "A layout that comes to rest"))
    }

    @Test("The picture is written in addition to the text")
    func pictureAndText() throws {
        let file = try TemporaryFile(String(repeating: "x", count: 100_000))
        let demo = try Demo.run("feedback", "--output", file.path)
        #expect(demo.status == 0 && demo.output.contains("feedback loop:") && demo.output.contains(file.path))
        let picture = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(picture == (try Demo.run("feedback", "--output", "-")).output)
        #expect(try Demo.run("feedback", "--format", "json", "--output", file.path).objects?.count == 5)
    }

    /// The picture that the documents show: `RunLoopDemo feedback --output docs/feedback.svg`.
    @Test("The picture in the documents is up to date")
    func documentedPicture() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/feedback.svg")
        #expect(try String(contentsOf: file, encoding: .utf8) == (try Demo.run("feedback", "--output", "-")).output)
    }

    @Test("A picture that cannot be written is reported in one line", arguments: ["/nowhere/x.svg", "/", "/dev/full"])
    func unwritablePicture(_ file: String) throws {
        let demo = try Demo.run("feedback", "--output", file)
        #expect(demo.status == 1 && demo.output == "")
        #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains(file))
    }

    // MARK: Manners

    @Test(
        "Wrong usage prints one line and exits with 64",
        arguments: [
            ["more"], ["--output"], ["--output", ""], ["--mended=yes"], ["--format", "svg"],
            ["--output", "-", "--format", "json"], ["--threshold"], ["--threshold", "1"], ["--threshold", "10001"],
            ["--threshold", "many"], ["--threshold", "-5"],
        ])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["feedback"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }
}
