import CLinux
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// How a watcher watches loops: several, from inside a handler, at every moment, until their end.
@Suite(.timeBound) struct StallWatchingTests {
    @Test("One watcher watches many loops")
    func manyLoops() throws {
        let scene = StallScene(thresholds: [100])
        let threads = try (0..<8).map { try LoopThread(name: "loop \($0)") }
        for thread in threads { scene.watch(thread.loop, name: thread.name) }
        let (inside, release) = (Count(), Gate())
        for thread in threads[..<4] {
            thread.perform {
                inside.up()
                release.wait()
            }
        }
        spin(until: inside.value == 4)
        scene.pass(100)
        #expect(Set(scene.reports.entries.map(\.loop)) == Set(threads[..<4].map(\.name)))
        release.open()
        for thread in threads { try thread.performAndWait {} }
        // An answer comes from inside a block, in which the thread may still be.
        spin(until: threads.allSatisfy { $0.loop.isWaiting })
        scene.pass(100)
        #expect(scene.reports.entries.count { $0.stage == .ended } == 4)
    }

    @Test("A loop can be watched from inside a handler, and watched no more")
    func watchInsideHandler() {
        let scene = StallScene(thresholds: [100])
        let (loop, _) = Loop.inVirtualTime()
        loop.perform {
            scene.watch(loop)
            scene.pass(1000)
        }
        loop.perform { scene.pass(110) }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story == ["exceeded 100: 100", "ended: 110"])
        loop.perform {
            scene.watcher.unwatch(loop)
            scene.pass(1000)
        }
        loop.perform { scene.pass(1000) }
        loop.run(mode: .default, for: .zero)
        #expect(scene.story.count == 2 && scene.watcher.metrics(of: loop) == nil)
        #expect(scene.check() == nil)
    }

    @Test("A loop that is watched is not kept alive, and a watcher without loops does not look")
    func lifetime() {
        let scene = StallScene()
        weak var remains: Loop?
        do {
            let (loop, _) = Loop.inVirtualTime()
            remains = loop
            scene.watch(loop)
        }
        #expect(remains == nil)
        scene.check()
        #expect(scene.check() == nil)
    }

    /// Handlers of random length, random looks besides those that are due, and a loop that ends at a random moment.
    @Test("Each stall is reported with its true start and end, and ends once", arguments: 0..<100 as Range<UInt64>)
    func eachStallOnce(_ seed: UInt64) {
        var random = SplitMix(seed)
        let scene = StallScene(thresholds: [100, 250])
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        var expected: [[Int64]] = []
        for _ in 0..<random.next() % 6 {
            let length = Int64(random.next() % 400)
            let start = scene.now
            loop.perform { scene.pass(length) }
            loop.run(mode: .default, for: .zero)
            if length >= 100 { expected.append([start, scene.now]) }
            switch random.next() % 3 {
            case 0: scene.check()
            case 1: scene.pass(Int64(random.next() % 200))
            default: break
            }
        }
        loop.end()
        scene.pass(Int64(random.next() % 300))
        scene.pass(1000)
        let reports = scene.reports.entries
        let ended = reports.filter { $0.stage == .ended }
        #expect(ended.map { [$0.start.nanoseconds, $0.end!.nanoseconds] } == expected)
        #expect(ended.map(\.number) == Array(1..<(expected.count + 1)))
        #expect(reports.map(\.number) == reports.map(\.number).sorted())
    }

    /// The loop's thread is interrupted after it has kept the stall, and before it says that the handler has ended.
    @Test("A stall that has ended is not found again while its handler seems to run", arguments: [1, 100])
    func looksWhileAHandlerEnds(_ stalls: Int) {
        let rules = StallRules(
            thresholds: [100], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil })
        let (loop, _) = Loop.inVirtualTime()
        let time = Box<Int64>()
        time.value = 0
        let recorder = LoopRecorder(threshold: 100, now: { time.value! }, prepareThread: {})
        let watched = WatchedLoop(loop, name: "test", recorder: recorder)
        var reports: [StallReport] = []
        func look() { reports += watched.look(at: time.value!, blind: 0..<0, rules).reports }
        // More than are kept: the last one is not among those.
        for number in 1...stalls {
            recorder.willCallOut(Callout(.block))
            time.value! += 150
            recorder.endPeriod(at: time.value!)
            if number == stalls { for _ in 1...3 { look() } }
            recorder.beginPeriod(at: time.value!) { recorder.removeCallout(at: time.value!) }
        }
        for _ in 1...3 { look() }
        #expect(reports.map(\.stage) == Array(repeating: .ended, count: min(stalls, 64)))
    }

    /// The looks and the ends of handlers interleave as the threads do.
    @Test("A watcher that looks at every moment reports the end of each stall last, and once")
    func looksAtEveryMoment() throws {
        let scene = StallScene(thresholds: [100])
        let thread = try LoopThread(name: "stalls")
        scene.watch(thread.loop)
        let isOver = Gate()
        let count = 5000
        for _ in 0..<count {
            thread.perform { scene.passUnwatched(150) }
            thread.perform {}
        }
        thread.perform { isOver.open() }
        while !isOver.isOpenNow { scene.check() }
        thread.stop()
        thread.join()
        scene.check()
        let stages = Dictionary(grouping: scene.reports.entries, by: \.number).mapValues { $0.map(\.stage) }
        for (number, stages) in stages {
            #expect(stages.last == .ended, "stall \(number)")
            #expect(stages.count { $0 == .ended } == 1, "stall \(number)")
        }
        #expect(stages.count <= count)
    }

    @Test("The end of a loop ends its stall")
    func loopEnds() async {
        // A process of its own: what the abandoned frames hold is never released.
        await #expect(processExitsWith: .success) {
            let scene = StallScene(thresholds: [100])
            let thread = try LoopThread(name: "ends")
            scene.watch(thread.loop)
            thread.perform {
                scene.pass(110)
                pthread_exit(nil)
            }
            thread.joinBlocking()
            scene.pass(200)
            _exit(scene.story == ["exceeded 100: 100", "ended: 200"] ? 0 : 1)
        }
    }
}
