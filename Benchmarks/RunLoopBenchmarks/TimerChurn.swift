import CLinux
import CoreFoundation
import Foundation
import Operations

/// Timeouts that hardly ever fire: one of many timers, at random, is cancelled and another one added; or it gets
/// another time.
struct TimerChurn: Scenario {
    enum Change { case replaced, retimed }

    let name: String
    let change: Change
    /// How many timers there are.
    let size: Int

    var summary: String {
        switch change {
        case .replaced: "One of \(size) timers, at random, is cancelled, and another one is added."
        case .retimed: "One of \(size) timers, at random, gets another time."
        }
    }

    init(_ name: String, _ change: Change, _ size: Int) { (self.name, self.change, self.size) = (name, change, size) }

    func run(_ effort: Effort) throws -> Outcome {
        let (size, change) = (size, change)
        let operation = change == .replaced ? "timers-random@\(size)" : "timers-retime-random@\(size)"
        var subjects: [any OperationSubject] = [
            try ThreadOperation("timerfd_settime", makeTimerFDSettings),
            try ThreadOperation(Outcome.kit, .named(operation)),
            try ThreadOperation("Dispatch") { makeDispatchTimers(size, change) },
        ]
        // Its timers are a sorted array.
        if size <= 1_000 { subjects.append(try ThreadOperation("CFRunLoop") { makeCFTimers(size, change) }) }
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) timers",
            rows: subjects.measured(name, effort), bare: "timerfd_settime")
    }
}

/// In milliseconds.
private func delay(_ random: inout Scatter, _ size: Int) -> Int { 3_600_000 + random.next(below: size) }

/// The kernel's own timer, set to one time and to another.
@Sendable private func makeTimerFDSettings() -> ThreadOperation.Body {
    let timer = check("timerfd_create", timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC)))
    return { count in
        var time = itimerspec()
        for number in 0..<count {
            time.it_value.tv_sec = 3_600 + number & 1
            check("timerfd_settime", timerfd_settime(timer, 0, &time, nil))
        }
    }
}

private func makeDispatchTimers(_ size: Int, _ change: TimerChurn.Change) -> ThreadOperation.Body {
    let queue = DispatchQueue(label: "timers")
    var random = Scatter()
    func time() -> DispatchTime { .now() + .milliseconds(delay(&random, size)) }
    func make() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: time())
        timer.setEventHandler {}
        timer.resume()
        return timer
    }
    var timers = (0..<size).map { _ in make() }
    return { count in
        for _ in 0..<count {
            let index = random.next(below: size)
            if change == .retimed {
                timers[index].schedule(deadline: time())
            } else {
                timers[index].cancel()
                timers[index] = make()
            }
        }
    }
}

private func makeCFTimers(_ size: Int, _ change: TimerChurn.Change) -> ThreadOperation.Body {
    var random = Scatter()
    func time() -> CFAbsoluteTime { CFAbsoluteTimeGetCurrent() + Double(delay(&random, size)) / 1_000 }
    func add() -> CFRunLoopTimer {
        let timer = CFRunLoopTimerCreateWithHandler(nil, time(), 0, 0, 0) { _ in }!
        CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
        return timer
    }
    var timers = (0..<size).map { _ in add() }
    return { count in
        for _ in 0..<count {
            let index = random.next(below: size)
            if change == .retimed {
                CFRunLoopTimerSetNextFireDate(timers[index], time())
            } else {
                CFRunLoopTimerInvalidate(timers[index])
                timers[index] = add()
            }
        }
    }
}
