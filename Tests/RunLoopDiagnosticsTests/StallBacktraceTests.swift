import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// Backtraces of other threads, and monitors with a thread of their own.
@Suite(.timeBound) struct StallBacktraceTests {
    @Test("The backtrace of a stalled handler has the function that blocks, and the call of the handler")
    func blockingFunction() throws {
        try System.prepareBacktraces(by: Signals.backtrace)
        let signal = Signals.backtrace
        let scene = StallScene(thresholds: [100], prepareThread: { System.unblock(signal) }) { thread in
            // On a busy machine the thread may take long to answer.
            System.sample(ofThread: thread, by: signal, within: 60_000_000_000)
        }
        let thread = try LoopThread(name: "blocked")
        scene.watch(thread.loop)
        let (isInside, release) = (Gate(), Gate())
        thread.perform { blockForTheBacktrace(isInside, release) }
        isInside.wait()
        scene.pass(100)
        release.open()
        try thread.performAndWait {}
        let backtrace = try #require(scene.reports.entries.first).backtrace
        let functions = backtrace.frames.compactMap(\.function)
        #expect(functions.contains { $0.contains("blockForTheBacktrace") }, "\(backtrace.frames)")
        #expect(functions.contains { $0.contains("loopIsCallingOutToABlock") })
        // ThreadSanitizer calls the handler itself, after the signal.
        let isHandlerShown = functions.contains { $0.contains("clinux_") }
        #expect(!isHandlerShown || isUnderThreadSanitizer, "the signal handler's frames are left out")
        #expect(!backtrace.description.contains("loopIsCallingOut"))
        #expect(!backtrace.description.contains("reabstraction thunk"))
        #expect(backtrace.description.contains("blockForTheBacktrace"))
        #expect(scene.story == ["exceeded 100: 100"])
    }

    @Test("A thread that does not answer yields no backtrace, and later ones are taken")
    func noAnswer() throws {
        try System.prepareBacktraces(by: Signals.backtrace)
        let thread = try LoopThread(name: "deaf")
        let number = try thread.performAndWait {
            Signals.block(Signals.backtrace)
            return System.kernelThreadNumber
        }
        #expect(System.sample(ofThread: number, by: Signals.backtrace, within: 1_000_000) == nil)
        // The signal that is pending finds no request.
        try thread.performAndWait { System.unblock(Signals.backtrace) }
        let sample = System.sample(ofThread: number, by: Signals.backtrace, within: 60_000_000_000)
        #expect(sample!.addresses.count > 3)
    }

    @Test("Of threads that request backtraces at once each gets one")
    func requestsAtOnce() throws {
        try System.prepareBacktraces(by: Signals.backtrace)
        let thread = try LoopThread(name: "asked")
        let number = try thread.performAndWait {
            System.unblock(Signals.backtrace)
            return System.kernelThreadNumber
        }
        let answers = Count()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<20 {
                let sample = System.sample(ofThread: number, by: Signals.backtrace, within: 60_000_000_000)
                if sample != nil { answers.up() }
            }
        }
        #expect(answers.value == 80)
    }

    @Test("A sleep that the signal ends has a backtrace nevertheless")
    func interruptedSleep() throws {
        let reports = Log<StallReport>()
        let isOver = DispatchSemaphore(value: 0)
        let thresholds = (1...1000).map { Duration.milliseconds($0) }
        let monitor = try StallMonitor(thresholds: thresholds, signal: Signals.backtrace) { report in
            reports.add(report)
            if report.stage == .ended { isOver.signal() }
        }
        let thread = try LoopThread(name: "sleeps")
        monitor.watch(thread)
        // On a busy machine the thread may not answer in time, though the signal ends its sleep: then it sleeps again.
        for _ in 0..<100 {
            thread.perform { sleepUntilASignal() }
            isOver.wait()
            let functions = reports.entries.flatMap { $0.backtrace.frames.compactMap(\.function) }
            if functions.contains(where: { $0.contains("sleepUntilASignal") }) { return }
        }
        Issue.record("\(reports.entries)")
    }

    @Test("A sample that was taken after the end of a handler is not the handler's")
    func sampleOfALaterHandler() {
        let scene = StallScene(thresholds: [100])
        let (loop, _) = Loop.inVirtualTime()
        let recorder = LoopRecorder(threshold: 1, now: { scene.now }, prepareThread: {})
        loop.attach(recorder)
        let marks = Log<UInt64>()
        loop.perform {
            marks.add(recorder.runningHandler!.mark)
            scene.passUnwatched(50)
            #expect(recorder.wasInHandler(marks.entries[0], at: scene.now))
        }
        loop.run(mode: .default, for: .zero)
        let end = scene.now
        #expect(recorder.wasInHandler(marks.entries[0], at: end))
        #expect(!recorder.wasInHandler(marks.entries[0], at: end + 1))
        loop.detach(recorder)
    }

    @Test("A signal that the program handles, or that does not exist, is refused")
    func refusedSignals() throws {
        _ = signal(Signals.handled) { _ in }
        #expect(throws: LoopError.self) { try StallMonitor(signal: Signals.handled) }
        do { _ = try StallMonitor(signal: Signals.handled) } catch {
            #expect(error.errno == EBUSY && error.description.contains("name another one"))
        }
        #expect(throws: LoopError.self) { try StallMonitor(signal: 1000) }
        #expect(throws: LoopError.self) { try StallMonitor(signal: SIGKILL) }
    }

    @Test("An address has its module, its build id or symbol, and its offset")
    func modules() throws {
        // Of the C library, of the toolchain, and of no file.
        let version = UInt(bitPattern: dlsym(nil, "gnu_get_libc_version"))
        let known = UInt(bitPattern: dlsym(nil, "swift_retain"))
        let backtrace = Backtrace([version, known + 3, 16])
        #expect(backtrace.frames[0].module?.contains("libc") == true)
        #expect(backtrace.frames[1].function?.hasPrefix("swift_retain") == true)
        #expect(backtrace.frames[1].functionOffset == 3)
        #expect(backtrace.frames[1].description.contains(" + 3 in "))
        #expect(backtrace.frames[2].module == nil && backtrace.frames[2].description == "0x10")
        #expect(Backtrace([]).description == "")
    }

    /// As after an upgrade, while a program runs.
    @Test("A file that has taken the place of a library yields no names")
    func replacedLibrary() throws {
        let copy = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let names = ["asinhf", "cabsf", "cacos", "cargf", "cbrtf", "conjf", "erfcf", "lround", "remquo", "tanf"]
        func copyModule(of name: String) throws {
            let address = UInt(bitPattern: dlsym(nil, name))
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: Backtrace([address]).frames[0].module!, toPath: copy)
        }
        try copyModule(of: "lround")
        let library = try #require(dlopen(copy, RTLD_NOW | RTLD_LOCAL))
        let addresses = names.map { UInt(bitPattern: dlsym(library, $0)) }
        let before = Backtrace(addresses).frames
        #expect(before.contains { $0.function?.hasPrefix("lround") == true }, "\(before)")
        try copyModule(of: "gnu_get_libc_version")
        let after = Backtrace(addresses).frames
        #expect(after.allSatisfy { $0.module == copy && $0.function == nil && !$0.buildID.isEmpty }, "\(after)")
        // The program's own file is read, even if it has lost its path.
        let program = try #require(System.modules(containing: [UInt(bitPattern: #dsohandle)])[0])
        #expect(program.file == "/proc/self/exe" && program.path.hasPrefix("/"))
    }

    @Test("A file without symbols, or that is none, yields no names")
    func noSymbols() {
        #expect(SymbolTable.functions(at: [1, 2], in: "/nowhere") == [nil, nil])
        #expect(SymbolTable.functions(at: [1], in: "/dev/null") == [nil])
        #expect(SymbolTable.functions(at: [1], in: "/etc/passwd") == [nil])
        #expect(SymbolTable.functions(at: [], in: "/proc/self/exe") == [])
    }

    @Test("A monitor reports by itself, until it is dropped")
    func monitor() throws {
        let thread = try LoopThread(name: "stalled")
        let (exceeded, ended, release) = (Gate(), Gate(), Gate())
        let names = Log<String>()
        do {
            let monitor = try StallMonitor(thresholds: [.milliseconds(1)]) { report in
                guard report.loop == "stalled" else { return }
                names.add(report.loop)
                if report.stage == .ended { ended.open() } else { exceeded.open() }
            }
            monitor.watch(thread)
            monitor.watch(thread)
            thread.perform { release.wait() }
            exceeded.wait()
            release.open()
            ended.wait()
            let metrics = try #require(monitor.metrics(of: thread.loop))
            #expect(metrics.stalls >= 1 && metrics.callouts >= 1 && metrics.utilisation > 0)
        }
        let count = names.entries.count
        try thread.performAndWait { for _ in 1...3 { sched_yield() } }
        #expect(names.entries.count == count && !thread.loop.isMonitored.load(ordering: .relaxed))
    }

    /// Again only where the watcher was kept from running itself, which does not count as a stall.
    @Test("A flush reports what has ended, without waiting for the next look")
    func flush() throws {
        let thread = try LoopThread(name: "stalled")
        let stages = Log<String>()
        let monitor = try StallMonitor(thresholds: [.milliseconds(1), .seconds(3600)], signal: nil) { report in
            if report.loop == "stalled", report.stage == .ended { stages.add("ended") }
        }
        monitor.watch(thread)
        while stages.entries.isEmpty {
            try thread.performAndWait { usleep(2_000) }
            // The first block has ended when the second one runs.
            try thread.performAndWait {}
            monitor.flush()
        }
    }

    @Test("A flush inside the monitor's handler does nothing")
    func flushInTheHandler() throws {
        let thread = try LoopThread(name: "stalled")
        let (reported, own) = (Gate(), Box<StallMonitor>())
        let monitor = try StallMonitor(thresholds: [.milliseconds(1)], signal: nil) { report in
            // Of the only handler; so the value is not read later.
            if report.stage == .ended { return }
            own.value?.flush()
            reported.open()
        }
        own.value = monitor
        monitor.watch(thread)
        let release = Gate()
        thread.perform { release.wait() }
        reported.wait()
        release.open()
        own.value = nil
    }

    @Test("Looks and snapshots of other threads while loops run are no race")
    func concurrency() throws {
        let rules = StallRules(thresholds: [1], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil })
        let now = { @Sendable in System.monotonicNanoseconds() }
        let threads = try (1...2).map { try LoopThread(name: "busy \($0)") }
        let watched = threads.map { thread in
            let recorder = LoopRecorder(threshold: 1, now: now, prepareThread: {})
            thread.loop.attach(recorder)
            return WatchedLoop(thread.loop, name: thread.name, recorder: recorder)
        }
        let isOver = Gate()
        let reader = try LoopThread(name: "reader")
        reader.perform {
            while !isOver.isOpenNow {
                for watched in watched {
                    let metrics = watched.recorder.activity.metrics(at: now(), WaitingWork())
                    #expect(metrics.utilisation >= 0 && metrics.utilisation <= 1)
                }
            }
        }
        var found = 0
        let look = {
            for watched in watched {
                // Without lateness, of which this thread has much.
                for report in watched.look(at: now(), blind: 0..<0, rules).reports {
                    #expect(report.duration > .zero && report.loop == watched.name)
                    found += 1
                }
            }
        }
        for _ in 1...300 {
            for thread in threads {
                thread.loop.add(Loop.Timer(after: .zero) { _ in }, in: .default)
                thread.perform {
                    thread.loop.perform(in: .tracking) {}
                    thread.loop.run(mode: .tracking, for: .zero)
                }
                thread.perform {}
            }
            look()
        }
        for thread in threads { try thread.performAndWait {} }
        look()
        isOver.open()
        try reader.performAndWait {}
        #expect(found > 0)
    }
}

/// Its name has to be in the backtrace. A signal with a handler ends the sleep, which is never restarted.
@inline(never)
private func sleepUntilASignal() { sleep(3600) }

/// Its name has to be in the backtrace.
@inline(never)
private func blockForTheBacktrace(_ isInside: Gate, _ release: Gate) {
    isInside.open()
    release.wait()
}
