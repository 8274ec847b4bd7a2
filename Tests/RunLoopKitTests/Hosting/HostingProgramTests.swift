import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// One random program, run by its loop, while a tracer is attached, and by hosts: the same callouts at the same times.
@Suite(.timeBound) struct HostingProgramTests {
    /// `RANDOM_SEED` and `RANDOM_PROGRAMS` select other programs.
    private static let seeds = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["RANDOM_SEED"].flatMap { UInt64($0) } ?? 0
        return first..<first + (environment["RANDOM_PROGRAMS"].flatMap { UInt64($0) } ?? programCount(900))
    }()

    /// A tracer makes blocks stay in their queues until they run; without one, a block step takes them out together.
    @Test("A traced program makes the same callouts as one that is not traced", arguments: seeds)
    func sameCalloutsWhenTraced(_ seed: UInt64) throws {
        func play(preparing prepare: (Loop) -> Void) throws -> [String] {
            try RandomProgram(seed, preparing: prepare).play { loop in
                while loop.now < seconds(100) { loop.run(mode: .default, until: seconds(100)) }
            }
        }
        let tracer = LoopTracer(capacity: 16)
        #expect(try play { tracer.attach(to: $0) } == play { _ in })
    }

    @Test("A hosted program makes the same callouts as one that runs", arguments: seeds)
    func sameCallouts(_ seed: UInt64) throws {
        let run = try RandomProgram(seed).play { loop in
            while loop.now < seconds(100) { loop.run(mode: .default, until: seconds(100)) }
        }
        #expect(!run.isEmpty)
        for trigger in Host.Trigger.allCases {
            let hosted = try RandomProgram(seed).play { loop in
                let host = try Host(loop, .default, trigger)
                host.serve()
                loop.hosting.end()
            }
            let first = zip(hosted, run).first { $0 != $1 }
            #expect(hosted == run, "first difference: \(first.map { "hosted: \($0), run: \($1)" } ?? "in length")")
        }
    }

    @Test(
        "A host that handlers run does not sleep while it could serve something, nor after observers before the rest",
        arguments: seeds, [false, true])
    func handlersThatRunTheHost(_ seed: UInt64, _ isObserved: Bool) throws {
        let kinds: [(Host.Trigger, budget: Duration?)] = [
            (.level, nil), (.edge, nil), (.asks, nil), (.level, .zero), (.level, .seconds(1)), (.asks, .zero),
            (.asks, .seconds(1)),
        ]
        for (trigger, budget) in kinds {
            let program = try RandomProgram(seed, isObserved: isObserved)
            _ = try program.play { loop in
                let host = try Host(loop, .default, trigger, budget: budget)
                program.host = host
                host.serve()
                program.checkThatNothingWaits()
                program.host = nil
                loop.hosting.end()
            }
        }
    }
}

/// The actions of each callout, by its number. Everything happens on one thread and in virtual time, so that only the
/// loop decides the order.
private final class RandomProgram: @unchecked Sendable {
    private enum Action {
        case post(Loop.Mode, count: Int, wake: Bool)
        case signal(Int, wake: Bool)
        case send(Int)
        case message(Int, count: Int)
        case addTimer(Loop.Mode, after: Int, tolerance: Int)
        case retime(Int, Int)
        case invalidate(Int)
        case nest(Loop.Mode, Int)
        case stop, wakeUp
        /// Only if the program has a host.
        case serveHost
    }

    /// The host that handlers run. All work then wakes it, and timers are punctual.
    var host: Host?
    private var hostDepth = 0

    private let loop: Loop
    private var script: [[Action]] = []
    private var log: [String] = []
    private var ports: [Loop.PortSource] = []
    private var messagePorts: [Loop.MessagePort<Int>] = []
    private var messages = 0
    private var sources: [Loop.Source0] = []
    private var timers: [Loop.Timer] = []
    private var posts = 0
    private var depth = 0
    private var isInBlock = false
    private var isInRest = false
    /// While nothing may happen.
    private var isChecking = false

    /// - Parameter isObserved: Whether an observer before the rest acts as a callout does.
    init(_ seed: UInt64, isObserved: Bool = false, preparing prepare: (Loop) -> Void = { _ in }) throws {
        loop = Loop(clock: VirtualClock())
        prepare(loop)
        loop.addCommonMode(.tracking)
        if isObserved {
            let observer = Loop.Observer(.beforeWaiting) { [unowned self] _, _ in
                if isChecking { return }
                let wasInRest = isInRest
                isInRest = true
                defer { isInRest = wasInRest }
                callout("rest")
            }
            loop.add(observer, in: .common)
        }
        let modes: [Loop.Mode] = [.default, .common, .tracking]
        for (number, mode) in modes.enumerated() {
            ports.append(try Loop.PortSource { [unowned self] in callout("port \(number): \($0)") })
            messagePorts.append(Loop.MessagePort { [unowned self] in callout("message \($0) to \(number)") })
            sources.append(Loop.Source0 { [unowned self] in callout("source \(number)") })
            loop.add(ports[number], in: mode)
            loop.add(messagePorts[number], in: mode)
            loop.add(sources[number], in: mode)
        }
        var random = SplitMix(seed)
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        for _ in 0..<40 {
            script.append(
                (0..<pick(4)).map { _ in
                    switch pick(15) {
                    case 0, 1: .post(modes[pick(3)], count: 1 + pick(3), wake: pick(3) > 0)
                    case 2, 3: .signal(pick(3), wake: pick(3) > 0)
                    case 4, 5: .send(pick(3))
                    case 6, 7: .addTimer(modes[pick(3)], after: pick(4), tolerance: pick(3))
                    case 8: .retime(pick(8), pick(4))
                    case 9: pick(2) == 0 ? .invalidate(pick(8)) : .wakeUp
                    case 10: .nest(pick(2) == 0 ? .default : .tracking, pick(3))
                    case 11: .stop
                    case 12: .serveHost
                    default: .message(pick(3), count: pick(8) == 0 ? 70 : 1 + pick(3))
                    }
                })
        }
    }

    /// The callouts, each with its time.
    func play(_ drive: (Loop) throws -> Void) throws -> [String] {
        perform(.addTimer(.default, after: 1, tolerance: 0))
        perform(.post(.default, count: 1, wake: true))
        perform(.send(0))
        try drive(loop)
        loop.end()
        return log
    }

    private func callout(_ name: String) {
        let number = log.count
        let wasInBlock = isInBlock
        isInBlock = isInBlock || name.hasPrefix("block")
        defer { isInBlock = wasInBlock }
        let mode = loop.currentMode?.name ?? "no mode"
        log.append("\(loop.now.nanoseconds / 1_000_000) ms: \(name) in \(mode), depth \(depth)")
        if number < script.count { for action in script[number] { perform(action) } }
    }

    private func perform(_ action: Action) {
        switch action {
        case .post(let mode, let count, let wake):
            for _ in 0..<count {
                posts += 1
                let number = posts
                // After a block of step 3.2 that posts another one without a wake-up, a run sleeps; a host makes
                // another pass.
                loop.perform(in: mode, wake: wake || isInBlock || host != nil) { [unowned self] in
                    callout("block \(number)")
                }
            }
        case .signal(let number, let wake): sources[number].signal(wake: wake || host != nil)
        case .send(let number): ports[number].send()
        case .message(let number, let count):
            for _ in 0..<count {
                messages += 1
                messagePorts[number].send(messages)
            }
        case .addTimer(let mode, let delay, let tolerance):
            let number = timers.count
            let timer = Loop.Timer(after: .milliseconds(delay), tolerance: .milliseconds(host == nil ? tolerance : 0)) {
                [unowned self] _ in callout("timer \(number)")
            }
            timers.append(timer)
            loop.add(timer, in: mode)
        case .retime(let number, let delay):
            guard number < timers.count else { return }
            timers[number].nextFireTime = loop.now.advanced(by: .milliseconds(delay))
        case .invalidate(let number): if number < timers.count { timers[number].invalidate() }
        case .nest(let mode, let duration):
            guard depth < 3 else { return }
            depth += 1
            let result = loop.run(mode: mode, for: .milliseconds(duration))
            depth -= 1
            log.append("nested run: \(result)")
        // Outside nested runs it would end the run, and a later run forgets earlier wake-ups. A host goes on.
        case .stop: if depth > 0 || isInRest { loop.stop() }
        case .wakeUp: loop.wakeUp()
        case .serveHost: serveHost()
        }
    }
    /// Serves the loop until the host would sleep. A pass that it makes all the same finds nothing to do.
    private func serveHost() {
        guard let host, hostDepth < 2 else { return }
        hostDepth += 1
        host.beginInsideHandler()
        host.serve()
        checkThatNothingWaits()
        hostDepth -= 1
    }

    /// A pass that a host makes all the same.
    func checkThatNothingWaits() {
        let served = log.count
        isChecking = true
        let result = loop.hosting.pass()
        isChecking = false
        if log.count > served { Issue.record("The host would have slept in spite of \(log[served]).") }
        // Inside a handler it may be a stop for the pass that has called the handler.
        if result == .stopped, hostDepth == 0 { Issue.record("The host would have slept in spite of a stop.") }
    }
}
