import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// Detectors and other threads.
@Suite(.timeBound) struct FeedbackLoopThreadTests {
    @Test("Calls on another thread are made, not counted, and known by their number")
    func otherThread() throws {
        let scene = FeedbackScene()
        let detector = scene.detector(drops: true)
        let other = try LoopThread()
        try other.performAndWait {
            let panel = Panel()
            #expect(detector.count(panel, times: 30) == 30)
            #expect(detector.call("layout", of: panel) { 7 } == 7)
        }
        #expect(detector.callsOnOtherThreads == 31 && scene.reports.entries.isEmpty)
    }

    @Test("A detector of another thread's loop counts on that thread")
    func detectorOfOtherLoop() throws {
        let thread = try LoopThread(clock: VirtualClock())
        let reports = Log<FeedbackLoopDetector.Report>()
        let detector = FeedbackLoopDetector(
            on: thread.loop, threshold: 10,
            actions: [
                .call {
                    #expect(thread.loop.isOnOwnThread)
                    reports.add($0)
                }
            ])
        try thread.performAndWait { _ = detector.count(Panel(), times: 10) }
        #expect(reports.entries.count == 1 && detector.callsOnOtherThreads == 0)
    }

    /// The counting thread checks after each flip that no call is dropped once it has seen the switch off.
    @Test("The switch takes effect at once from another thread", arguments: 0..<20)
    func switchFromOtherThread(_ round: Int) throws {
        let thread = try LoopThread(clock: VirtualClock())
        let detector = FeedbackLoopDetector(on: thread.loop, threshold: 5, actions: [.dropCalls])
        let (isOff, isSeen) = (Gate(), Gate())
        thread.perform {
            let panel = Panel()
            detector.count(panel, times: 5 + round)
            // Dropped until the other thread turns the detector off, and never again.
            spin(until: detector.count(panel, "layout"))
            #expect(!detector.isEnabled)
            isOff.wait()
            #expect(detector.count(panel, times: 100) == 100)
            isSeen.open()
        }
        detector.isEnabled = false
        isOff.open()
        isSeen.wait()
        try thread.performAndWait {}
    }

    @Test("Switching, watching and detaching while the loop's thread counts", arguments: 0..<20)
    func changesWhileCounting(_ round: Int) throws {
        let thread = try LoopThread(clock: VirtualClock())
        let made = Count()
        let layouting = LimitedMethod<Sheet, Void>("layout", engine: RuleEngine()) { _, _ in made.up() }
        let detector = FeedbackLoopDetector(on: thread.loop, threshold: 5, actions: [.call { _ in }])
        let calls = 3000
        for _ in 0..<10 {
            thread.perform {
                let sheet = Sheet()
                for _ in 0..<(calls / 10) { layouting(sheet) }
            }
        }
        for index in 0..<200 {
            detector.isEnabled = index % 2 == 0
            let watch = detector.watch(layouting)
            if index % 3 == 0 { watch.cancel() }
        }
        detector.detach()
        try thread.performAndWait {}
        #expect(made.value == calls && !detector.isEnabled && !layouting.isWatched)
    }
}
