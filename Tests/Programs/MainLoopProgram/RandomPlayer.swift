import Dispatch
import Foundation
import RunLoopKit
import TestSupport

/// Plays a random program on the main loop, and checks the laws of the main queue.
///
/// - Each job runs once, on the initial thread, in the order of posting.
/// - A job runs only in a common mode, or when the queue is served by hand; and never inside another job.
/// - A run that may serve a waiting job does so after at most one wait, and does not finish. A host learns of it.
/// - No job is lost, however runs are nested and stopped.
final class RandomPlayer: @unchecked Sendable {
    private struct Run {
        let mode: RandomProgram.Mode
        var isHosted = false
        /// Runs end after some passes.
        var passesLeft = 8
        /// What the run found as it was about to wait, and a job waited that it may serve.
        var served: Int?
    }

    private let program: RandomProgram
    private let names: [RandomProgram.Mode: Loop.Mode]
    private static let main = Loop.main
    private static let isVerbose = ProcessInfo.processInfo.environment["LAW_VERBOSE"] != nil
    /// Only the initial thread makes players.
    nonisolated(unsafe) private static var count = 0
    private(set) var violation: String?
    private(set) var coverage: Set<String> = []

    private var isLateCommon: Bool
    private var posted = 0
    private var served = 0
    private var isInJob = false
    private var isServing = false
    private var runs: [Run] = []
    private var callers: [String] = ["main"]
    private var isElsewhere = false
    private var isOver = false
    private var stepsLeft = 120
    private var observers: [Loop.Observer] = []
    private var leftovers: [Loop.Item] = []
    private var blocks: [Loop.PendingBlock] = []

    private init(_ program: RandomProgram) {
        self.program = program
        // Modes stay common for ever. Each has descriptors.
        RandomPlayer.count = min(RandomPlayer.count + 1, 300)
        let late = Loop.Mode("late \(RandomPlayer.count)")
        isLateCommon = RandomPlayer.main.isCommon(late)
        names = [.default: .default, .tracking: Loop.Mode("tracking"), .apart: Loop.Mode("apart"), .late: late]
    }

    /// The violation is nil if all laws held.
    static func play(_ program: RandomProgram) -> RandomPlayer {
        let player = RandomPlayer(program)
        main.addCommonMode(player.names[.tracking]!)
        for mode in player.names.values { player.observe(mode) }
        player.play(script: 0)
        player.goQuiet()
        return player
    }

    private func observe(_ mode: Loop.Mode) {
        let observer = Loop.Observer([.beforeTimers, .beforeWaiting], order: .max) { [self] _, activity in
            reached(activity)
        }
        observers.append(observer)
        RandomPlayer.main.add(observer, in: mode)
    }

    private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        guard !condition, violation == nil else { return }
        violation = message()
    }

    // MARK: The model

    private func isCommon(_ mode: RandomProgram.Mode) -> Bool { mode == .late ? isLateCommon : mode != .apart }

    /// Whether a job waits, and the innermost run may serve it.
    private var mustServe: Bool { served < posted && !isInJob && runs.last.map { isCommon($0.mode) } ?? false }

    private func reached(_ activity: Loop.Activity) {
        guard !runs.isEmpty else { return }
        let last = runs.count - 1
        if activity == .beforeTimers {
            runs[last].passesLeft -= 1
            if runs[last].passesLeft < 0 || violation != nil { RandomPlayer.main.stop() }
        } else if mustServe {
            expect(runs[last].served != served, "a run in \(runs[last].mode) is about to wait again, and a job waits")
            runs[last].served = served
        } else {
            runs[last].served = nil
            if !runs[last].isHosted { RandomPlayer.main.stop() }
        }
    }

    // MARK: Work

    private func post(_ work: RandomProgram.Work, _ mode: RandomProgram.Mode, _ script: Int) {
        let (main, name) = (RandomPlayer.main, names[mode]!)
        let number = posted
        if work.isOfMainQueue { posted += 1 }
        switch work {
        case .job: DispatchQueue.main.async { self.job(number, work, script) }
        case .task: Task { @MainActor in self.job(number, work, script) }
        case .block:
            let block = main.performCancellable(in: name) { self.call(work, script) }
            blocks.append(block!)
        case .timer:
            let timer = Loop.Timer(after: .zero) { _ in self.call(work, script) }
            leftovers.append(timer)
            main.add(timer, in: name)
        case .port:
            let port = try! Loop.PortSource()
            port.setHandler { [weak port] _ in
                self.call(work, script)
                port?.invalidate()
            }
            leftovers.append(port)
            main.add(port, in: name)
            port.send()
        }
    }

    private func job(_ number: Int, _ work: RandomProgram.Work, _ script: Int) {
        guard !isOver else { return }
        expect(Thread.isMainThread, "job \(number) runs on another thread")
        expect(number == served, "job \(number) runs after \(served) others")
        expect(!isInJob, "job \(number) runs inside another one")
        let isInCommonMode = runs.last.map { isCommon($0.mode) } ?? false
        expect(isServing || isInCommonMode, "job \(number) runs in \(runs.last.map { "\($0.mode)" } ?? "no mode")")
        served += 1
        isInJob = true
        call(work, script)
        isInJob = false
    }

    private func call(_ work: RandomProgram.Work, _ script: Int) {
        // What is called while the queue is served by hand has runs of its own.
        let wasServing = isServing
        isServing = false
        callers.append(work.rawValue)
        play(script: script)
        callers.removeLast()
        isServing = wasServing
    }

    // MARK: Steps

    private func play(script: Int) {
        for step in program.scripts[script] {
            stepsLeft -= 1
            guard stepsLeft > 0, violation == nil, !isOver else { return }
            if RandomPlayer.isVerbose { RandomPlayer.say(String(repeating: "  ", count: callers.count) + "\(step)") }
            play(step)
        }
    }

    private func cover(_ operation: String) {
        let state = served < posted ? "a job waits" : "no job waits"
        coverage.insert("\(operation) from \(isElsewhere ? "another thread" : callers.last!), \(state)")
    }

    private func play(_ step: RandomProgram.Step) {
        let main = RandomPlayer.main
        switch step {
        case .post(let work, let mode, let script):
            if work.isOfMainQueue { cover(work.rawValue) }
            post(work, mode, script)
        case .poll(let mode): run(mode, for: .zero)
        case .run(let mode): run(mode, for: .seconds(3600))
        case .stop:
            cover("stop")
            main.stop()
        case .serve: serve()
        case .host(let mode): host(mode)
        case .becomeCommon:
            isLateCommon = true
            main.addCommonMode(names[.late]!)
        case .elsewhere(let step):
            isElsewhere = true
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                self.play(step)
                isDone.signal()
            }
            isDone.wait()
            isElsewhere = false
        }
    }

    private func run(_ mode: RandomProgram.Mode, for duration: Duration) {
        guard runs.count < 4 else { return }
        cover(duration == .zero ? "poll" : "run")
        runs.append(Run(mode: mode))
        let result = RandomPlayer.main.run(mode: names[mode]!, for: duration)
        if duration != .zero {
            expect(result != .finished || !mustServe, "a run in \(mode) finishes, and a job waits")
            expect(result != .timedOut, "a run in \(mode) ends long before its time")
        }
        runs.removeLast()
    }

    private func serve() {
        cover("serve")
        let (before, isInJob) = (posted, isInJob)
        isServing = true
        Loop.serveMainQueue()
        isServing = false
        expect(isInJob || served >= before, "the queue was served, and \(before - served) jobs wait")
    }

    private func host(_ mode: RandomProgram.Mode) {
        let hosting = RandomPlayer.main.hosting
        guard runs.isEmpty, !isInJob else { return }
        cover("host")
        runs.append(Run(mode: mode, isHosted: true))
        let descriptor = try! hosting.begin(in: names[mode]!)
        passes: for _ in 0..<30 {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&request, 1, 0) > 0 else {
                expect(!mustServe, "the descriptor of a host in \(mode) is not readable, and a job waits")
                break
            }
            switch hosting.pass() {
            case .more: continue
            case .idle, .finished: expect(!mustServe, "a hosted pass in \(mode) leaves nothing to do, and a job waits")
            case .stopped: break passes
            }
        }
        hosting.end()
        runs.removeLast()
    }

    // MARK: The end

    /// All jobs run, and nothing is left for the next program.
    private func goQuiet() {
        stepsLeft = 0
        runs = [Run(mode: .default, passesLeft: .max)]
        for _ in 0..<50 where served < posted { _ = RandomPlayer.main.run(mode: .default, for: .zero) }
        expect(served == posted, "\(posted - served) of \(posted) jobs are lost")
        runs = []
        isOver = true
        for item in leftovers + observers { item.invalidate() }
        for block in blocks { _ = block.withdraw() }
    }

    // MARK: All programs

    /// How each operation on the queue is called. Another thread hands over work, and stops runs.
    private static let combinations: Set<String> = {
        let callers = ["main"] + RandomProgram.Work.allCases.map(\.rawValue)
        let operations = ["job", "task", "poll", "run", "stop", "serve"]
        var all = operations.flatMap { operation in callers.map { "\(operation) from \($0)" } }
        all += ["host from main"] + ["job", "task", "stop"].map { "\($0) from another thread" }
        return Set(all.flatMap { ["\($0), a job waits", "\($0), no job waits"] })
    }()

    /// At once, for the process may trap or hang.
    private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

    /// Plays programs until one breaks a law. A program that hangs ends the process.
    static func playAll(from first: UInt64, count: UInt64) -> Int32 {
        var missing = combinations
        for seed in first..<first + count {
            alarm(20)
            say("seed \(seed)")
            let program = RandomProgram(seed)
            let player = play(program)
            missing.subtract(player.coverage)
            guard let violation = player.violation else { continue }
            say("\(violation)\n\(program.shrunk { play($0).violation != nil })")
            return 1
        }
        alarm(0)
        if count >= 100, !missing.isEmpty {
            say("never came up: \(missing.sorted().joined(separator: "; "))")
            return 1
        }
        say("all laws held")
        return 0
    }
}
