import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What a detector counts, when it begins from zero, and what it reports.
@Suite(.timeBound) struct FeedbackLoopDetectorTests {
    private let scene = FeedbackScene()
    private let panel = Panel("panel")

    // MARK: The threshold

    @Test("An object that reaches the threshold within a pass is reported once")
    func reportedOnce() throws {
        let detector = scene.detector()
        scene.pass { detector.count(panel, times: 1000) }
        let report = try #require(scene.reports.entries.first)
        #expect(scene.reports.entries.count == 1 && report.count == 10)
        #expect(report.step.objectID == ObjectIdentifier(panel) && report.step.typeName == "Panel")
        #expect(report.step.name == "layout" && "\(report.step)" == "panel.layout")
        #expect(report.mode == .default && report.depth == 0 && report.activity == .beforeSources)
    }

    @Test("An object below the threshold is not reported")
    func belowThreshold() {
        let detector = scene.detector()
        scene.pass { detector.count(panel, times: 9) }
        #expect(scene.reports.entries.isEmpty)
    }

    @Test("The thresholds are a hundred calls, and a thousand for a type")
    func defaultThresholds() {
        let reports = scene.reports
        let detector = FeedbackLoopDetector(on: scene.loop, actions: [.call { reports.add($0) }])
        #expect(detector.threshold == 100 && detector.typeThreshold == 1000 && detector.isEnabled)
        scene.pass { detector.count(panel, times: 100) }
        #expect(scene.reports.entries.map(\.count) == [100])
        #expect(FeedbackLoopDetector(on: scene.loop, threshold: .max).typeThreshold == .max)
    }

    @Test("Calls of different names and of different objects are counted separately")
    func separateCounts() {
        let detector = scene.detector()
        scene.pass {
            for name in ["layout", "draw"] {
                for object in [panel, Panel("other")] { detector.count(object, times: 9, name) }
            }
        }
        #expect(scene.reports.entries.isEmpty)
        scene.pass { for _ in 0..<10 { for name in ["layout", "draw"] { detector.count(panel, name) } } }
        #expect(scene.reports.entries.map { "\($0.step)" } == ["panel.layout"], "one report for one circle")
    }

    // MARK: Passes

    @Test("Each pass in which an object reaches the threshold has its report")
    func reportForEachPass() {
        let detector = scene.detector()
        scene.passes(3) { detector.count(panel, times: 20) }
        #expect(scene.reports.entries.count == 3)
    }

    @Test("A pass that does not sleep begins from zero")
    func passBeginsFromZero() {
        let detector = scene.detector()
        scene.passes(50) { detector.count(panel, times: 9) }
        #expect(scene.reports.entries.isEmpty)
    }

    @Test("A loop that has slept begins from zero")
    func sleepBeginsFromZero() {
        let detector = scene.detector()
        let timer = Loop.Timer(every: .seconds(1)) { [panel] _ in detector.count(panel, times: 6) }
        let observer = Loop.Observer(.beforeWaiting) { [panel] _, _ in detector.count(panel, times: 6) }
        for item in [timer, observer] as [Loop.Item] { scene.loop.add(item, in: .default) }
        scene.loop.run(mode: .default, for: .seconds(20))
        #expect(scene.reports.entries.isEmpty)
        timer.invalidate()
    }

    @Test("What the beforeWaiting observers do belongs to the pass")
    func beforeWaitingBelongsToPass() throws {
        let detector = scene.detector()
        let observer = Loop.Observer(.beforeWaiting, order: 2_000_000) { [panel] _, _ in detector.count(panel, times: 5)
        }
        scene.loop.add(observer, in: .default)
        scene.loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
        scene.loop.perform { [panel] in detector.count(panel, times: 5) }
        scene.loop.run(mode: .default, for: .seconds(5))
        #expect(scene.reports.entries.map(\.activity) == [.beforeWaiting])
    }

    @Test("Handlers of what wakes the loop are counted together")
    func handlersAfterWaiting() {
        let detector = scene.detector()
        for _ in 0..<2 {
            scene.loop.add(Loop.Timer(at: seconds(1)) { [panel] _ in detector.count(panel, times: 5) }, in: .default)
        }
        scene.loop.run(mode: .default, for: .seconds(5))
        #expect(scene.reports.entries.map(\.activity) == [.afterWaiting])
    }

    @Test("Calls outside a run are made and not counted")
    func outsideRun() {
        let detector = scene.detector(drops: true)
        #expect(detector.count(panel, times: 50) == 50)
        scene.pass {}
        #expect(detector.count(panel, times: 50) == 50)
        scene.pass { [panel] in detector.count(panel, times: 9) }
        #expect(scene.reports.entries.isEmpty && detector.callsOnOtherThreads == 0)
    }

    @Test("Calls while a host sleeps for the loop are not counted, those of its passes are")
    func hostedLoop() throws {
        let detector = scene.detector()
        _ = try scene.loop.hosting.begin()
        for _ in 0..<5 {
            scene.loop.perform { [panel] in detector.count(panel, times: 9) }
            while scene.loop.hosting.pass() == .more {}
            detector.count(panel, times: 50)
        }
        #expect(scene.reports.entries.isEmpty)
        scene.loop.perform { [panel] in detector.count(panel, times: 10) }
        while scene.loop.hosting.pass() == .more {}
        #expect(scene.reports.entries.count == 1)
        scene.loop.hosting.end()
    }

    @Test("A hosted pass in a handler of another one counts for itself, and leaves the outer counts as they are")
    func nestedHostedPass() throws {
        let detector = scene.detector()
        _ = try scene.loop.hosting.begin()
        func pass(_ before: Int, _ inside: Int, _ after: Int) {
            scene.loop.perform { [scene, panel] in
                detector.count(panel, times: before)
                scene.loop.perform { detector.count(panel, times: inside) }
                // Otherwise the loop comes to rest.
                for _ in 0..<9 { scene.loop.perform {} }
                #expect(scene.loop.hosting.pass(for: .zero) == .more)
                detector.count(panel, times: after)
                while scene.loop.hosting.pass() == .more {}
                #expect(scene.loop.isWaiting)
                detector.count(panel, times: 50)
            }
            while scene.loop.hosting.pass() == .more {}
        }
        pass(6, 6, 3)
        #expect(scene.reports.entries.isEmpty, "9 in the outer pass, 6 in the inner one")
        pass(0, 10, 9)
        #expect(scene.reports.entries.map(\.depth) == [1])
        pass(6, 3, 4)
        #expect(scene.reports.entries.map(\.depth) == [1, 0])
        scene.loop.hosting.end()
    }

    @Test("A detector that is made in a handler counts from then on")
    func madeInHandler() {
        let made = Box<FeedbackLoopDetector>()
        scene.pass { [scene, panel] in
            made.value = scene.detector()
            made.value!.count(panel, times: 10)
        }
        #expect(scene.reports.entries.count == 1 && scene.reports.entries[0].activity == nil)
        scene.passes(5) { [panel] in made.value!.count(panel, times: 9) }
        #expect(scene.reports.entries.count == 1)
    }

    // MARK: Nested runs

    @Test("A nested run counts for itself and leaves the outer counts as they are", arguments: ["default", "modal"])
    func nestedRun(_ name: String) {
        let detector = scene.detector()
        scene.pass { [scene, panel] in
            detector.count(panel, times: 6)
            for _ in 0..<5 { scene.pass(in: Loop.Mode(name)) { detector.count(panel, times: 6) } }
            detector.count(panel, times: 3)
        }
        #expect(scene.reports.entries.isEmpty, "9 in the outer pass, 6 in each inner one")
        scene.pass { [scene, panel] in
            detector.count(panel, times: 6)
            scene.pass(in: Loop.Mode(name)) { detector.count(panel, times: 3) }
            detector.count(panel, times: 4)
        }
        #expect(scene.reports.entries.map(\.depth) == [0])
    }

    @Test("A run in a mode that is not a common one is observed from its first call on")
    func modeNotCommon() {
        let detector = scene.detector()
        scene.pass { [scene, panel] in
            detector.count(panel, times: 1)
            for _ in 0..<9 { scene.pass(in: "modal") { detector.count(panel, times: 2) } }
            scene.pass(in: "modal") { detector.count(panel, times: 10) }
        }
        #expect(scene.reports.entries.map(\.depth) == [1] && scene.reports.entries[0].mode == "modal")
        #expect(scene.loop.count(of: "observer") == 4, "two in each of two modes")
    }

    @Test("Several passes of a run in a mode that is not a common one begin from zero each")
    func passesOfModeNotCommon() {
        let detector = scene.detector()
        scene.loop.add(Loop.Timer(every: .seconds(1)) { [panel] _ in detector.count(panel, times: 9) }, in: "modal")
        scene.loop.run(mode: "modal", for: .seconds(20))
        #expect(scene.reports.entries.isEmpty)
    }

    // MARK: Objects

    @Test("Objects are not retained")
    func objectsNotRetained() {
        let detector = scene.detector()
        scene.pass {
            weak var gone: Panel?
            do {
                let panel = Panel()
                gone = panel
                detector.count(panel, times: 20)
            }
            #expect(gone == nil)
        }
        #expect(scene.reports.entries.count == 1)
    }

    @Test("A new object at the address of a deallocated one begins from zero")
    func addressReuse() {
        let detector = scene.detector(typeThreshold: .max)
        scene.pass {
            var seen: Set<ObjectIdentifier> = []
            var isReused = false
            for _ in 0..<10_000 where !isReused {
                let panel = Panel()
                isReused = !seen.insert(ObjectIdentifier(panel)).inserted
                detector.count(panel, times: 9)
            }
            // AddressSanitizer keeps freed memory from being used again for a while.
            #expect(isReused || isUnderAddressSanitizer)
        }
        #expect(scene.reports.entries.isEmpty)
    }

    @Test("A type reaches its threshold though each of its objects is new")
    func typeThreshold() throws {
        let detector = scene.detector(typeThreshold: 50)
        scene.pass { for _ in 0..<200 { detector.count(Panel(), "layout") } }
        let report = try #require(scene.reports.entries.first)
        #expect(scene.reports.entries.count == 1 && report.count == 50)
        #expect(report.step.objectID == nil && "\(report.step)" == "Panel.layout")
        #expect(report.chain == "Panel.layout → Panel.layout …" && report.rounds == 50)
    }

    @Test("A type is not reported for an object that is")
    func typeNotReportedTwice() {
        let detector = scene.detector(typeThreshold: 50)
        scene.pass { [panel] in detector.count(panel, times: 200) }
        #expect(scene.reports.entries.map(\.step.objectID) == [ObjectIdentifier(panel)])
    }

    @Test("A label may call what is counted, which does not count")
    func labelThatCalls() {
        let (reports, home) = (scene.reports, LoopBound<FeedbackLoopDetector?>(nil, on: scene.loop))
        let detector = FeedbackLoopDetector(on: scene.loop, threshold: 10, actions: [.call { reports.add($0) }]) {
            home.value?.count($0, "layout")
            return "called"
        }
        home.value = detector
        scene.pass { detector.count(panel, times: 9) }
        #expect(scene.reports.entries.isEmpty)
        scene.pass { detector.count(panel, times: 10) }
        #expect(scene.reports.entries.map { "\($0.step)" } == ["called.layout"])
        home.value = nil
    }

    @Test("A call from a deinit counts for the type")
    func countInDeinit() {
        final class Closing {
            let detector: FeedbackLoopDetector
            init(_ detector: FeedbackLoopDetector) { self.detector = detector }
            deinit { detector.count(self, times: 30, "close") }
        }
        let labels = Count()
        let detector = scene.detector(typeThreshold: 30) { _ in "label \(labels.up())" }
        scene.pass { _ = Closing(detector) }
        #expect(labels.value == 0, "a label could retain the object")
        #expect(scene.reports.entries.map(\.step.objectID) == [nil])
    }

    @Test("A pass that never ends needs no more memory")
    func boundedMemory() throws {
        let detector = scene.detector(typeThreshold: .max)
        scene.pass { [scene, panel] in
            var objects: [Panel] = []
            for index in 0..<20_000 {
                if index % 3000 == 0 { objects = [] }
                objects.append(Panel())
                detector.count(objects.last!, "layout")
                if index % 2500 == 0 { detector.count(panel, "layout") }
            }
            let counts = scene.counts(of: detector)
            #expect(counts.map { $0.objects.all.count <= SubjectTable.capacity } == true)
            #expect(counts?.recording.all.count == RecordedCalls.capacity && counts?.recording.total == 20_008)

            detector.count(panel, times: 10)
        }
        #expect(scene.reports.entries.map { "\($0.step)" } == ["panel.layout"])
        #expect(scene.reports.entries.first?.recording.count == RecordedCalls.capacity)
    }
}
