import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What a report says about the cycle and its callers.
@Suite(.timeBound) struct FeedbackLoopReportTests {
    private let scene = FeedbackScene()
    private let sidebar = Panel("sidebar")
    private let content = Panel("content")
    private let header = Panel("header")

    /// The sidebar's layout invalidates the content, whose layout invalidates the sidebar; the header is laid out once.
    private func runIntoFeedback(_ detector: FeedbackLoopDetector, rounds: Int = 50) {
        scene.pass {
            detector.call("layout", of: header) {}
            for _ in 0..<rounds {
                for (panel, other) in [(sidebar, content), (content, sidebar)] {
                    detector.call("layout", of: panel) { detector.call("invalidate", of: other) {} }
                }
            }
        }
    }

    @Test("The circle is shown as a chain that begins with what reached the threshold")
    func circle() throws {
        runIntoFeedback(scene.detector())
        let report = try #require(scene.reports.entries.first)
        #expect(scene.reports.entries.count == 1, "one report for one circle")
        #expect(
            report.chain
                == "sidebar.layout → content.invalidate → content.layout → sidebar.invalidate → sidebar.layout …")
        #expect(report.rounds == 9 && report.cycle.count == 4)
        #expect(report.recording.first?.description == "header.layout" && report.recording.count == 38)
        #expect(report.tallies.first?.description == "sidebar.layout 10")
        #expect(report.tallies.contains { "\($0)" == "header.layout 1" } && report.tallies.count == 5)
    }

    @Test("The callers are the watched calls around the last calls")
    func callers() throws {
        let detector = scene.detector()
        scene.pass {
            for _ in 0..<10 { detector.call("layout", of: sidebar) { _ = detector.count(content, "invalidate") } }
        }
        // The sidebar reaches the threshold first, called from no watched call: the place in the source code counts.
        let report = try #require(scene.reports.entries.first)
        #expect(report.callers.count == 8)
        #expect(report.callers.allSatisfy { $0.label.contains("FeedbackLoopReportTests.swift:") })
        let invalidations = report.recording.filter { $0.step.name == "invalidate" }
        #expect(invalidations.allSatisfy { $0.caller?.label == "sidebar.layout" } && invalidations.count == 9)
    }

    @Test("A cause that the caller gives is shown, and is evaluated only if the call is counted")
    func causes() throws {
        let detector = scene.detector()
        let evaluations = Count()
        func cause() -> String { "viewport \(evaluations.up())" }
        scene.pass { for _ in 0..<10 { detector.count(sidebar, "layout", cause: cause()) } }
        let report = try #require(scene.reports.entries.first)
        #expect(report.callers.map(\.label) == (3...10).map { "viewport \($0)" })
        detector.count(sidebar, "layout", cause: cause())
        detector.isEnabled = false
        scene.pass { detector.count(sidebar, "layout", cause: cause()) }
        #expect(evaluations.value == 10)
    }

    @Test("Objects of the same name are numbered")
    func numberedObjects() throws {
        let detector = scene.detector(label: nil)
        scene.pass {
            for _ in 0..<10 { for panel in [sidebar, content] { detector.count(panel, "layout") } }
        }
        #expect(scene.reports.entries.first?.chain == "Panel#1.layout → Panel#2.layout → Panel#1.layout …")
    }

    @Test("Rare calls in between do not hide the circle")
    func circleWithNoise() throws {
        let detector = scene.detector()
        let others = (0..<4).map { Panel("other \($0)") }
        scene.pass {
            for index in 0..<10 {
                detector.count(sidebar, "layout")
                if index % 3 == 1 { detector.count(others[index / 3], "layout") }
                detector.count(content, "layout")
            }
        }
        let report = try #require(scene.reports.entries.first)
        #expect(report.chain == "sidebar.layout → content.layout → sidebar.layout …" && report.rounds == 9)
    }

    @Test("Without an exact circle the last round is shown")
    func noExactCircle() throws {
        let detector = scene.detector()
        let panels: [Character: Panel] = ["s": sidebar, "c": content, "h": header]
        scene.pass { for panel in "schscchsshcscshhcshssccs" { detector.count(panels[panel]!, "layout") } }
        let report = try #require(scene.reports.entries.first)
        #expect(
            report.rounds == 0 && report.chain == "sidebar.layout → content.layout → content.layout → sidebar.layout …")
        #expect("\(report)".contains("\n  no exact cycle; the last round: sidebar.layout → content.layout → "))
    }

    @Test("A long circle is shortened in the text, not in the report")
    func longCircle() throws {
        let detector = scene.detector(typeThreshold: .max)
        let panels = (0..<60).map { Panel("p\($0)") }
        scene.pass { for _ in 0..<10 { for panel in panels { detector.count(panel, "layout") } } }
        let report = try #require(scene.reports.entries.first)
        #expect(report.cycle.count == 60 && report.rounds == 9)
        #expect(report.chain.contains("… 45 more …") && report.chain.hasSuffix("p59.layout → p0.layout …"))
    }

    @Test("The text names object, count, pass, circle, callers and the other calls")
    func text() throws {
        runIntoFeedback(scene.detector())
        let report = try #require(scene.reports.entries.first)
        let address = "0x" + String(UInt(bitPattern: ObjectIdentifier(sidebar)), radix: 16)
        let lines = "\(report)".split(separator: "\n").map(String.init)
        #expect(
            lines[0] == "feedback loop: sidebar.layout (Panel at \(address)) was called 10 times in one pass, "
                + "in mode default at beforeSources")
        #expect(lines[1] == "  cycle: \(report.chain), 9 rounds")
        #expect(lines[2].hasPrefix("  last called from: RunLoopDiagnosticsTests/FeedbackLoopReportTests.swift:"))
        #expect(lines[3].hasPrefix("  counted in this pass: sidebar.layout 10, ") && lines.count == 4)
    }

    @Test("Return addresses are recorded if asked for, of the last callers only")
    func backtraces() throws {
        #expect(scene.reports.entries.isEmpty)
        runIntoFeedback(scene.detector())
        runIntoFeedback(scene.detector(backtraceDepth: 5))
        #expect(scene.reports.entries.count == 2)
        let (without, with) = (scene.reports.entries[0], scene.reports.entries[1])
        #expect(without.callers.allSatisfy(\.backtrace.isEmpty) && !"\(without)".contains("backtrace"))
        #expect(with.callers.allSatisfy { $0.backtrace.count == 5 && !$0.backtrace.contains(0) })
        #expect(with.recording.count { !($0.caller?.backtrace.isEmpty ?? true) } < 40)
        #expect("\(with)".contains("\n  backtrace: 0x"))
    }
}
