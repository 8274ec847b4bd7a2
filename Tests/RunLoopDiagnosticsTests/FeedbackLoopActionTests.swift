import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What a detector does when it finds a feedback loop, and the switches.
@Suite(.timeBound) struct FeedbackLoopActionTests {
    private let scene = FeedbackScene()
    private let panel = Panel("panel")

    // MARK: Actions

    @Test("A log is one message on stderr")
    func log() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let scene = FeedbackScene()
            let detector = FeedbackLoopDetector(on: scene.loop, threshold: 10)
            let panel = Panel()
            scene.pass { detector.count(panel, times: 500) }
        }
        let text = try #require(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) })
        #expect(text.hasPrefix("RunLoopKit: feedback loop: Panel.layout (Panel at 0x") && text.hasSuffix("\n"))
        #expect(text.split(separator: "RunLoopKit:").count == 1 && text.contains("Panel.layout → Panel.layout …"))
    }

    @Test("A trap ends a debug build with the report as its message")
    func trap() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = FeedbackScene()
            let detector = FeedbackLoopDetector(on: scene.loop, threshold: 10, actions: [.trap])
            let panel = Panel()
            scene.pass { detector.count(panel, times: 500) }
        }
        let text = try #require(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) })
        #expect(text.contains("RunLoopKit: feedback loop: Panel.layout"))
    }

    @Test("Dropped calls are not made for the rest of the pass, from the one that reached the threshold on")
    func dropCalls() {
        let detector = scene.detector(drops: true)
        let (made, others) = (Count(), Count())
        scene.passes(3) {
            let answers = (0..<50).map { _ in detector.call("layout", of: panel) { made.up() } }
            #expect(answers.prefix(9).allSatisfy { $0 != nil } && answers.dropFirst(9).allSatisfy { $0 == nil })
            detector.call("draw", of: panel) { _ = others.up() }
        }
        #expect(made.value == 27 && others.value == 3, "another name is not dropped")
        #expect(scene.reports.entries.count == 3)
    }

    @Test("Dropping breaks a circle that would never end")
    func dropBreaksCircle() {
        let detector = scene.detector(drops: true)
        scene.pass { [panel] in
            var invalid = 1
            while invalid > 0 {
                invalid -= 1
                detector.call("layout", of: panel) { invalid += 1 }
            }
        }
        #expect(scene.reports.entries.count == 1)
    }

    @Test("Dropping by type breaks a circle through new objects")
    func dropByType() {
        let detector = scene.detector(typeThreshold: 30, drops: true)
        let made = Count()
        scene.pass {
            while detector.count(Panel(), "make") { made.up() }
        }
        #expect(made.value == 29 && scene.reports.entries.count == 1)
    }

    @Test("Without dropping all calls are made")
    func withoutDropping() {
        let detector = scene.detector()
        let made = Count()
        scene.pass { [panel] in for _ in 0..<50 { detector.call("layout", of: panel) { _ = made.up() } } }
        #expect(made.value == 50 && detector.count(panel, "layout"))
    }

    @Test("Actions are performed in their order, before the call that reached the threshold")
    func orderOfActions() {
        let log = Log<String>()
        let detector = FeedbackLoopDetector(
            on: scene.loop, threshold: 3, actions: [.call { _ in log.add("first") }, .call { _ in log.add("second") }])
        scene.pass { [panel] in for _ in 0..<4 { detector.call("layout", of: panel) { log.add("layout") } } }
        #expect(log.entries == ["layout", "layout", "first", "second", "layout", "layout"])
    }

    @Test("A handler may count, run the loop, and detach the detector")
    func handlerMayDoAnything() {
        let box = Box<FeedbackLoopDetector>()
        let log = Log<String>()
        let (loop, panel) = (scene.loop, panel)
        let scene = scene
        box.value = FeedbackLoopDetector(
            on: loop, threshold: 5,
            actions: [
                .call { report in
                    log.add("\(report.step.name) \(report.depth)")
                    if report.step.name == "layout" {
                        box.value!.count(panel, times: 5, "draw")
                        scene.pass { box.value!.count(panel, times: 5, "nested") }
                        box.value!.detach()
                    }
                }
            ])
        scene.pass { box.value!.count(panel, times: 20, "layout") }
        scene.pass { box.value!.count(panel, times: 20, "layout") }
        #expect(log.entries == ["layout 0", "draw 0", "nested 1"] && !box.value!.isEnabled)
        box.value = nil  // The detector's handler captures it.
    }

    @Test("A call returns its result, and throws its error")
    func results() throws {
        struct Failure: Error {}
        let detector = scene.detector()
        scene.pass { [scene, panel] in
            #expect(detector.call("measure", of: panel) { 7 } == 7)
            #expect(throws: Failure.self) { try detector.call("measure", of: panel) { throw Failure() } }
            detector.count(panel, "layout")
            let call = scene.counts(of: detector)?.recording.all.last
            #expect(call?.enclosing == nil, "the call that threw has ended")
        }
    }

    // MARK: Switches

    @Test("A detector that is off counts nothing and drops nothing")
    func instanceSwitch() {
        let detector = scene.detector(drops: true)
        scene.pass { [panel] in
            #expect(detector.count(panel, times: 20) == 9)
            detector.isEnabled = false
            #expect(detector.count(panel, times: 20) == 20 && !detector.isEnabled)
            detector.isEnabled = true
            #expect(detector.count(panel, times: 20) == 0)
        }
        #expect(scene.reports.entries.count == 1)
    }

    @Test("A detector that is switched on in a nested run has the right counts")
    func switchedOnInNestedRun() {
        let detector = scene.detector()
        detector.isEnabled = false
        scene.pass { [scene, panel] in
            scene.pass {
                detector.isEnabled = true
                detector.count(panel, times: 9)
            }
            detector.count(panel, times: 9)
        }
        #expect(scene.reports.entries.isEmpty)
    }

    @Test("The global switch turns all detectors off")
    func globalSwitch() async {
        await #expect(processExitsWith: .success) {
            let (scene, other) = (FeedbackScene(), FeedbackScene())
            let detectors = [scene.detector(drops: true), other.detector()]
            let panel = Panel()
            precondition(FeedbackLoopDetector.isEnabled)
            FeedbackLoopDetector.isEnabled = false
            scene.pass { precondition(detectors[0].count(panel, times: 50) == 50) }
            other.pass { detectors[1].count(panel, times: 50) }
            precondition(scene.reports.entries.isEmpty && other.reports.entries.isEmpty && detectors[0].isEnabled)
            FeedbackLoopDetector.isEnabled = true
            scene.pass { precondition(detectors[0].count(panel, times: 50) == 9) }
            precondition(scene.reports.entries.count == 1)
        }
    }

    @Test("A detached detector leaves the loop, and cannot be switched on again")
    func detach() {
        let detector = scene.detector()
        #expect(scene.loop.count(of: "observer") == 2)
        detector.detach()
        detector.isEnabled = true
        #expect(scene.loop.count(of: "observer") == 0 && !detector.isEnabled)
        scene.pass { [panel] in detector.count(panel, times: 50) }
        #expect(scene.reports.entries.isEmpty)
    }

    @Test("A detector that is released leaves the loop, and the loop does not retain it")
    func release() {
        weak var gone: FeedbackLoopDetector?
        do { gone = scene.detector() }
        #expect(gone == nil && scene.loop.count(of: "observer") == 0)
    }

    @Test("A detector of a loop that has ended counts nothing")
    func endedLoop() {
        scene.loop.end()
        let detector = scene.detector()
        #expect(detector.count(panel, times: 50) == 50)
        detector.detach()
        #expect(scene.reports.entries.isEmpty)
    }
}
