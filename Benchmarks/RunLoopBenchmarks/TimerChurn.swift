import CLinux
import CoreFoundation
import Foundation
import Operations

/// A timer comes and leaves again while many others wait: what a timeout costs that hardly ever fires.
struct TimerChurn: Scenario {
    /// How many timers wait.
    let size: Int
    let name: String

    var summary: String { "A timer is added to \(size) others, or re-timed, and invalidated." }

    init(_ name: String, _ size: Int) {
        self.name = name
        self.size = size
    }

    func run(_ effort: Effort) throws -> Outcome {
        let size = size
        var subjects: [any OperationSubject] = [
            try ThreadOperation("timerfd_settime", makeTimerFDSettings),
            try ThreadOperation(Outcome.kit, .named("timers@\(size)")),
            try ThreadOperation("RunLoopKit, common", .named("timers-common@\(size)")),
            try ThreadOperation("RunLoopKit, stop and start", .named("timers-stop-start@\(size)")),
            try ThreadOperation("RunLoopKit, re-time", .named("timers-retime@\(size)")),
            try ThreadOperation("Dispatch") { makeDispatchChurn(size) },
        ]
        // Its timers are a sorted array.
        if size <= 1_000 { subjects.append(try ThreadOperation("CFRunLoop") { makeCFChurn(size) }) }
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) timers",
            rows: subjects.measured(name, effort), bare: "timerfd_settime")
    }
}

/// In a fixed order that looks random.
private func delay(_ number: Int, _ size: Int) -> Int { 3_600_000_000 + number * 7_919 % size }

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

private func makeDispatchChurn(_ size: Int) -> ThreadOperation.Body {
    let queue = DispatchQueue(label: "timers")
    let make: (Int) -> any DispatchSourceTimer = { number in
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .microseconds(delay(number, size)))
        timer.setEventHandler {}
        timer.resume()
        return timer
    }
    let others = (0..<size).map(make)
    return { count in
        for number in 0..<count { make(number).cancel() }
        withExtendedLifetime(others) {}
    }
}

private func makeCFChurn(_ size: Int) -> ThreadOperation.Body {
    let add: (Int) -> CFRunLoopTimer? = { number in
        let time = CFAbsoluteTimeGetCurrent() + Double(delay(number, size)) / 1_000_000
        let timer = CFRunLoopTimerCreateWithHandler(nil, time, 0, 0, 0) { _ in }
        CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
        return timer
    }
    for number in 0..<size { _ = add(number) }
    return { count in for number in 0..<count { CFRunLoopTimerInvalidate(add(number)) } }
}
