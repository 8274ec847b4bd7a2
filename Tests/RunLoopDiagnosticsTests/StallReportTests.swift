import CLinux
import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// Reports that wait: for the names of their backtraces, and for the handler.
@Suite(.timeBound) struct StallReportTests {
    @Test("While a backtrace gets names, the next stall is found, and has a backtrace of its own")
    func slowNames() throws {
        let (samples, isNaming, reports) = (Count(), Gate(), Log<StallReport>())
        let rules = StallRules(
            thresholds: [1_000_000], isTraced: { false }, prepareThread: {},
            takeBacktrace: { _ in
                System.Sample(time: System.monotonicNanoseconds(), addresses: [UInt(samples.up())])
            },
            findNames: { backtrace in
                isNaming.open()
                // The names of the first one take until there is a second one.
                spin(until: samples.value >= 2)
                return backtrace
            })
        let monitor = try StallMonitor(rules) { reports.add($0) }
        let thread = try LoopThread(name: "stalls twice")
        monitor.watch(thread)
        thread.perform { isNaming.wait() }
        thread.perform { spin(until: samples.value >= 2) }
        try thread.performAndWait {}
        monitor.flush()
        // On a busy machine the last block may be a stall, too.
        let found = reports.entries.filter { $0.number <= 2 }
        #expect(found.map(\.number) == [1, 1, 2, 2])
        #expect(found.map { $0.stage == .ended } == [false, true, false, true])
        #expect(found.map(\.isFirst) == [true, false, true, false])
        #expect(found.map { $0.backtrace.frames.map(\.address) } == [[1], [1], [2], [2]])
    }

    @Test("A flush waits for the handler, and a monitor that is dropped reports what it has found")
    func reportsThatWait() throws {
        let (isInside, release, ends) = (Gate(), Gate(), Count())
        let thread = try LoopThread(name: "stalls")
        let rules = StallRules(
            thresholds: [1_000_000], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil })
        do {
            let monitor = try StallMonitor(rules) { report in
                guard report.number == 1 else { return }
                isInside.open()
                release.wait()
                if report.stage == .ended { ends.up() }
            }
            monitor.watch(thread)
            thread.perform { isInside.wait() }
            try thread.performAndWait {}
            // The look that finds the end, without the handler.
            let flushing = try LoopThread(name: "flushes")
            let isFlushed = Gate()
            flushing.perform {
                monitor.flush()
                #expect(ends.value == 1)
                isFlushed.open()
            }
            isInside.wait()
            #expect(!isFlushed.isOpenNow && ends.value == 0)
            release.open()
            isFlushed.wait()
        }
    }

    @Test("A stall has all of its reports or, while too many wait, none; the next report counts those without")
    func tooManyReports() {
        let waiting = Log<@Sendable () -> Void>()
        // Weak: the blocks retain the watcher, which retains this.
        let scene = StallScene(thresholds: [100, 105], later: { [weak waiting] in waiting?.add($0) })
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        func stall() {
            loop.perform { scene.pass(110) }
            loop.run(mode: .default, for: .zero)
            scene.pass(100)
        }
        // The last one begins while one more report may wait.
        let kept = StallWatcher.capacity / 3 + 1
        for _ in 0..<kept + 10 { stall() }
        #expect(scene.reports.entries.isEmpty)
        for report in waiting.entries { report() }
        let reports = scene.reports.entries
        #expect(reports.map(\.number) == (1...kept).flatMap { [$0, $0, $0] })
        #expect(reports.map(\.lostStalls) == [10] + Array(repeating: 0, count: 3 * kept - 1))
        #expect(reports[0].description.hasSuffix("\n(10 later stalls have no report)"))
        #expect(scene.watcher.metrics(of: loop)?.stalls == kept + 10)
        stall()
        for report in waiting.entries.dropFirst(3 * kept) { report() }
        #expect(scene.reports.entries.map(\.number).dropFirst(3 * kept) == [kept + 11, kept + 11, kept + 11])
        #expect(scene.reports.entries.last?.lostStalls == 0)
    }

    @Test("The report of the end has the names of the report before")
    func namesOfTheEnd() {
        let own = UInt(bitPattern: dlsym(nil, "swift_retain"))
        let scene = StallScene(thresholds: [100], takeBacktrace: { _ in System.Sample(time: 0, addresses: [own]) })
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        for _ in 1...2 {
            loop.perform { scene.pass(110) }
            loop.run(mode: .default, for: .zero)
            scene.pass(100)
        }
        let names = scene.reports.entries.map { $0.backtrace.frames.first?.function?.hasPrefix("swift_retain") }
        #expect(names == [true, true, true, true])
    }

    @Test("A library that is unloaded before its functions get names still has them")
    func unloadedLibrary() throws {
        let address = UInt(bitPattern: dlsym(nil, "lround"))
        let folder = FileManager.default.temporaryDirectory
        let copy = folder.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try FileManager.default.copyItem(atPath: #require(Backtrace([address]).frames[0].module), toPath: copy)
        let library = try #require(dlopen(copy, RTLD_NOW | RTLD_LOCAL))
        let function = UInt(bitPattern: dlsym(library, "lround"))
        let before = Backtrace(unnamed: [function + 1])
        let names = before.named().frames.map(\.description)
        dlclose(library)
        try #require(System.modules(containing: [function])[0] == nil)
        #expect(before.named().frames.map(\.description) == names)
        #expect(before.frames[0].module == copy && Backtrace([function]).frames[0].module == nil)
    }

    @Test("Thunks are left out of the text of a backtrace, unless they have the closure inlined")
    func thunks() {
        let symbols = [
            "$s4main4sortyyF", "$s4main4sortyyFTA", "$sIeg_ytIegr_TR", "$sIeg_ytIegr_TRTA", "$s4main4loadyyFTA", "main",
        ]
        let frames = symbols.map { symbol in
            let text = clinux_demangled(symbol, UInt(symbol.utf8.count))
            defer { clinux_free(text) }
            return Backtrace.Frame(
                address: 1, module: "/m", buildID: "", moduleOffset: 1,
                function: text.map { String(cString: $0) } ?? symbol, functionOffset: 7)
        }
        let backtrace = Backtrace(frames: frames)
        #expect(backtrace.ofHandler.count == 6)
        #expect(
            backtrace.description == """
                 0  main.sort() -> () + 7 in m
                 4  partial apply forwarder for main.load() -> () + 7 in m
                 5  main + 7 in m
                """)
    }
}
