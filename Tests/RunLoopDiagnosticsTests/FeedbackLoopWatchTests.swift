import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// Counting from outside: wrapped closures, closures in properties, limited methods.
@Suite(.timeBound) struct FeedbackLoopWatchTests {
    private let scene = FeedbackScene()
    private let panel = Panel("panel")

    // MARK: Closures

    @Test("A wrapped closure is counted and called")
    func wrappedClosure() {
        let detector = scene.detector(drops: true)
        let made = Count()
        let layout = detector.wrap("layout", of: panel) { made.up() }
        layout()
        #expect(made.value == 1, "outside a run")
        scene.pass { for _ in 0..<50 { layout() } }
        #expect(made.value == 10 && scene.reports.entries.map { "\($0.step)" } == ["panel.layout"])
    }

    @Test("A wrapped closure does not retain the object, and works without it")
    func wrappedClosureOfDeallocated() {
        let detector = scene.detector()
        let made = Count()
        weak var gone: Panel?
        var layout: () -> Void = {}
        do {
            let panel = Panel()
            gone = panel
            layout = detector.wrap("layout", of: panel) { made.up() }
        }
        #expect(gone == nil)
        scene.pass { for _ in 0..<50 { layout() } }
        #expect(made.value == 50 && scene.reports.entries.isEmpty)
    }

    @Test("The closure of a property is watched")
    func watchedProperty() {
        let detector = scene.detector()
        let made = Count()
        panel.onLayout = { made.up() }
        panel.onTouch = { made.up() }
        panel.onResize = { made.upBy($0) }
        panel.onMessage = { made.upBy($0.utf8.count) }
        detector.watch(panel, \.onLayout, as: "onLayout")
        detector.watch(panel, \.onTouch, as: "onTouch")
        detector.watch(panel, \.onResize, as: "onResize")
        detector.watch(panel, \.onMessage, as: "message")
        let calls: [(Panel) -> Void] = [
            { $0.onLayout() }, { $0.onTouch() }, { $0.onResize(1) }, { $0.onMessage("x") },
        ]
        for call in calls { scene.pass { [panel] in for _ in 0..<10 { call(panel) } } }
        #expect(made.value == 40)
        #expect(scene.reports.entries.map(\.step.name) == ["onLayout", "onTouch", "onResize", "message"])
        #expect(scene.reports.entries.allSatisfy { $0.callers[0].label.contains("FeedbackLoopWatchTests.swift") })
    }

    @Test("Closures with two and with three parameters are watched")
    func watchedPropertyWithParameters() {
        let detector = scene.detector(drops: true)
        let sum = Count()
        panel.onMove = { sum.upBy($0 + $1) }
        panel.onScroll = { sum.upBy($0 + $1) }
        panel.onDraw = { sum.upBy($0 + $1 + $2) }
        panel.onZoom = { sum.upBy($0 + $1 + $2) }
        detector.watch(panel, \.onMove, as: "onMove")
        detector.watch(panel, \.onScroll, as: "onScroll")
        detector.watch(panel, \.onDraw, as: "onDraw")
        detector.watch(panel, \.onZoom, as: "onZoom")
        let calls: [(Panel) -> Void] = [
            { $0.onMove(1, 2) }, { $0.onScroll(1, 2) }, { $0.onDraw(1, 2, 4) }, { $0.onZoom(1, 2, 4) },
        ]
        for call in calls { scene.pass { [panel] in for _ in 0..<50 { call(panel) } } }
        #expect(sum.value == 9 * (3 + 3 + 7 + 7), "nine of each, and the tenth is dropped")
        #expect(scene.reports.entries.map(\.step.name) == ["onMove", "onScroll", "onDraw", "onZoom"])
    }

    @Test("A wrapped closure has any parameters and a result, and another result if the call is dropped")
    func wrappedClosureWithResult() {
        let detector = scene.detector(drops: true)
        panel.height = detector.wrap("height", of: panel, ifDropped: -1, panel.height)
        var heights: [Int] = []
        scene.pass { [panel] in heights = (0..<12).map { panel.height($0, 2) } }
        #expect(heights == (0..<9).map { 2 * $0 } + [-1, -1, -1])
        #expect(scene.reports.entries.map { "\($0.step)" } == ["panel.height"])
        let sum = Count()
        let add = detector.wrap("add", of: panel) { (one: Int, two: String, _: Bool) in sum.upBy(one + two.utf8.count) }
        scene.pass { for _ in 0..<12 { add(1, "xx", true) } }
        #expect(sum.value == 27 && scene.reports.entries.count == 2)
    }

    @Test("A cancelled watch calls the closure without counting")
    func cancelledProperty() {
        let detector = scene.detector(drops: true)
        let made = Count()
        panel.onLayout = { made.up() }
        let watch = detector.watch(panel, \.onLayout, as: "onLayout")
        #expect(watch.isActive)
        watch.cancel()
        scene.pass { [panel] in for _ in 0..<50 { panel.onLayout() } }
        #expect(made.value == 50 && scene.reports.entries.isEmpty && !watch.isActive)
    }

    @Test("A property that is watched again is counted once, whatever it has now", arguments: [false, true])
    func propertyWatchedTwice(_ isReplaced: Bool) {
        let detector = scene.detector()
        let made = Count()
        panel.onLayout = { made.up() }
        let first = detector.watch(panel, \.onLayout, as: "onLayout")
        if isReplaced { panel.onLayout = { made.up() } }
        let second = detector.watch(panel, \.onLayout, as: "onLayout")
        detector.watch(panel, \.onTouch, as: "onTouch")
        #expect(first === second)
        scene.pass { [panel] in for _ in 0..<9 { panel.onLayout() } }
        #expect(made.value == 9 && scene.reports.entries.isEmpty)
        scene.pass { [panel] in for _ in 0..<10 { panel.onLayout() } }
        #expect(made.value == 19 && scene.reports.entries.count == 1)
        first.cancel()
        scene.pass { [panel] in for _ in 0..<10 { panel.onLayout() } }
        #expect(made.value == 29 && scene.reports.entries.count == 1)
        #expect(detector.watch(panel, \.onLayout, as: "onLayout").isActive)
        scene.pass { [panel] in for _ in 0..<10 { panel.onLayout() } }
        #expect(made.value == 39 && scene.reports.entries.count == 2)
    }

    @Test("A watched property retains neither its object nor the detector")
    func propertyRetainsNothing() {
        weak var goneDetector: FeedbackLoopDetector?
        weak var gonePanel: Panel?
        do {
            let panel = Panel()
            gonePanel = panel
            do {
                let detector = scene.detector()
                goneDetector = detector
                detector.watch(panel, \.onLayout, as: "onLayout")
            }
            #expect(goneDetector == nil)
            panel.onLayout()
        }
        #expect(gonePanel == nil)
    }

    @Test("The watch of a deallocated object does not end that of a new one at its address")
    func watchOfAReusedAddress() throws {
        let detector = scene.detector()
        var earlier: [ObjectIdentifier: FeedbackLoopDetector.Watch] = [:]
        for _ in 0..<(isUnderAddressSanitizer ? 1_000 : 100_000) {
            let panel = Panel()
            let watch = detector.watch(panel, \.onLayout, as: "onLayout")
            guard let old = earlier.updateValue(watch, forKey: ObjectIdentifier(panel)) else { continue }
            #expect(old !== watch)
            old.cancel()
            #expect(watch.isActive && detector.watch(panel, \.onLayout, as: "onLayout") === watch)
            scene.pass { for _ in 0..<10 { panel.onLayout() } }
            #expect(scene.reports.entries.count == 1)
            return
        }
        // AddressSanitizer keeps what is freed.
        if !isUnderAddressSanitizer { Issue.record("no address was used twice") }
    }

    @Test("The watches of deallocated objects are forgotten")
    func watchesOfDeallocated() {
        let detector = scene.detector()
        // An unowned reference keeps the memory, so that no address is used twice.
        struct Former { unowned let panel: Panel }
        var all: [Former] = []
        for _ in 0..<10_000 {
            let panel = Panel()
            detector.watch(panel, \.onLayout, as: "onLayout")
            all.append(Former(panel: panel))
        }
        #expect(detector.listedWatches <= 16)
        let living = (0..<1000).map { _ in Panel() }
        for panel in living { detector.watch(panel, \.onLayout, as: "onLayout") }
        #expect(detector.listedWatches >= 1000)
        scene.pass { for _ in 0..<10 { living[0].onLayout() } }
        #expect(scene.reports.entries.count == 1)
    }

    // MARK: Limited methods

    @Test("A limited method is counted without a rule")
    func methodWithoutRule() {
        let made = Count()
        let layouting = LimitedMethod<Sheet, Int>("layout", engine: RuleEngine()) { _, _ in made.up() }
        let detector = scene.detector(drops: true)
        let watch = detector.watch(layouting)
        let sheet = Sheet()
        scene.pass { for index in 0..<50 { layouting(sheet, index) } }
        #expect(made.value == 9 && scene.reports.entries.map { "\($0.step)" } == ["Sheet.layout"])
        watch.cancel()
        scene.pass { for index in 0..<50 { layouting(sheet, index) } }
        #expect(made.value == 59 && scene.reports.entries.count == 1)
    }

    @Test("A limited method that is watched again is counted once")
    func methodWatchedTwice() {
        let made = Count()
        let layouting = LimitedMethod<Sheet, Int>("layout", engine: RuleEngine()) { _, _ in made.up() }
        let detector = scene.detector()
        let watches = (0..<3).map { _ in detector.watch(layouting) }
        #expect(watches.allSatisfy { $0 === watches[0] })
        let sheet = Sheet()
        scene.pass { for index in 0..<9 { layouting(sheet, index) } }
        #expect(made.value == 9 && scene.reports.entries.isEmpty)
        scene.pass { for index in 0..<10 { layouting(sheet, index) } }
        #expect(scene.reports.entries.count == 1)
        watches[1].cancel()
        #expect(!layouting.isWatched)
        #expect(detector.watch(layouting).isActive && layouting.isWatched)
    }

    @Test("A limited static method is counted for each type that it is called on")
    func staticMethod() {
        let made = Count()
        let purging = LimitedMethod<Sheet.Type, Int>("purge", engine: RuleEngine()) { _, _ in made.up() }
        let detector = scene.detector(drops: true)
        detector.watch(purging)
        scene.passes(2) { for index in 0..<9 { for type in [Sheet.self, SubSheet.self] { purging(type, index) } } }
        #expect(made.value == 36 && scene.reports.entries.isEmpty, "nine of each in each pass")
        scene.pass { for index in 0..<50 { purging(SubSheet.self, index) } }
        #expect(made.value == 45 && scene.reports.entries.map { "\($0.step)" } == ["SubSheet.purge"])
        #expect(scene.reports.entries.first?.step.typeName == "SubSheet.Type")
        #expect(scene.reports.entries.first?.step.objectID == ObjectIdentifier(SubSheet.self))
    }

    @Test("A call that a rule delays or ignores is counted only if it runs", arguments: AnyMethodRule.Mode.allCases)
    func methodWithRule(_ mode: AnyMethodRule.Mode) throws {
        let made = Count()
        let layouting = LimitedMethod<Sheet, Int>("layout", engine: RuleEngine()) { _, _ in made.up() }
        let detector = scene.detector()
        detector.watch(layouting)
        let sheet = Sheet()
        let rule = try layouting.limit(for: sheet, every: .seconds(1), mode: mode, on: scene.loop)
        scene.loop.perform { for index in 0..<50 { layouting(sheet, index) } }
        scene.loop.run(mode: .default, for: .seconds(5))
        #expect(made.value == 1 && scene.reports.entries.isEmpty)
        rule.alwaysRun = { _, _ in true }
        scene.pass { for index in 0..<10 { layouting(sheet, index) } }
        #expect(made.value == 11 && scene.reports.entries.count == 1)
    }

    @Test("Delayed calls that are due together are counted in the pass that runs them")
    func delayedCalls() throws {
        let log = Log<Int>()
        let layouting = LimitedMethod<Sheet, Int>("layout", engine: RuleEngine()) { _, input in log.add(input) }
        let detector = scene.detector(drops: true)
        detector.watch(layouting)
        let sheets = (0..<3).map { _ in Sheet() }
        try layouting.limit(for: Sheet.self, every: .seconds(1), mode: .last, on: scene.loop, merging: { $0 + $1 })
        scene.loop.perform { for round in 0..<9 { for sheet in sheets { layouting(sheet, round) } } }
        scene.loop.run(mode: .default, for: .seconds(5))
        #expect(log.entries == [36, 36, 36] && scene.reports.entries.isEmpty)
    }

    @Test("Two detectors watch one method, and each can be detached")
    func twoDetectors() {
        let made = Count()
        let layouting = LimitedMethod<Sheet, Void>("layout", engine: RuleEngine()) { _, _ in made.up() }
        let (first, second) = (scene.detector(), scene.detector())
        first.watch(layouting)
        second.watch(layouting)
        let sheet = Sheet()
        scene.pass { for _ in 0..<10 { layouting(sheet) } }
        #expect(made.value == 10 && scene.reports.entries.count == 2)
        first.detach()
        scene.pass { for _ in 0..<10 { layouting(sheet) } }
        #expect(made.value == 20 && scene.reports.entries.count == 3 && layouting.isWatched)
        second.detach()
        #expect(!layouting.isWatched)
        #expect(!second.watch(layouting).isActive && !layouting.isWatched)
    }

    @Test("A watched method does not retain the detector, nor the detector the method")
    func methodRetainsNothing() {
        weak var (goneDetector, goneMethod): (FeedbackLoopDetector?, LimitedMethod<Sheet, Void>?)
        let detector = scene.detector()
        do {
            let method = LimitedMethod<Sheet, Void>("layout", engine: RuleEngine()) { _, _ in }
            goneMethod = method
            detector.watch(method)
            do {
                let other = scene.detector()
                goneDetector = other
                other.watch(method)
            }
            #expect(goneDetector == nil)
            method(Sheet())
        }
        #expect(goneMethod == nil)
    }

    @Test("A method that calls itself through another object is shown as a circle")
    func circleOfMethods() {
        final class Node: @unchecked Sendable { weak var next: Node? }
        let budget = Count()
        let visiting = Box<LimitedMethod<Node, Void>>()
        visiting.value = LimitedMethod("visit", engine: RuleEngine()) { node, _ in
            if budget.up() < 1000, let next = node.next { visiting.value!(next) }
        }
        let nodes = (0..<3).map { _ in Node() }
        for index in 0..<3 { nodes[index].next = nodes[(index + 1) % 3] }
        let detector = scene.detector(drops: true)
        detector.watch(visiting.value!)
        scene.pass { visiting.value!(nodes[0]) }
        #expect(
            scene.reports.entries.first?.chain == "Node#1.visit → Node#2.visit → Node#3.visit → Node#1.visit …")
        #expect(scene.reports.entries.first?.callers.last?.label == "Node#3.visit" && budget.value == 27)
        visiting.value = nil  // The method's body captures it.
    }

    @Test("A key of a watched key path may use the library as it is hashed and compared")
    func keyOfAKeyPath() async {
        await #expect(processExitsWith: .success) {
            struct Key: Hashable {
                let number: Int
                static func == (first: Key, second: Key) -> Bool {
                    _ = Loop.current.isCommon(.default)
                    return first.number == second.number
                }
                func hash(into hasher: inout Hasher) {
                    _ = Loop.current.isCommon(.default)
                    hasher.combine(number)
                }
            }
            final class Panel {
                var action: () -> Void = {}
                subscript(key: Key) -> () -> Void {
                    get { action }
                    set { action = newValue }
                }
            }
            let (detector, panel) = (FeedbackLoopDetector(on: Loop(clock: VirtualClock())), Panel())
            let watches = [1, 2, 1].map { detector.watch(panel, \Panel.[Key(number: $0)], as: "action") }
            precondition(watches[0] === watches[2] && watches[0] !== watches[1])
            watches[0].cancel()
            precondition(detector.watch(panel, \Panel.[Key(number: 1)], as: "action") !== watches[0])
            _exit(0)
        }
    }
}
