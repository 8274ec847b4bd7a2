import CoreFoundation
import Operations

/// A version-0 source is signalled on the loop's own thread, and a run performs it.
struct Source0Pass: Scenario {
    let name = "source0-pass"
    let summary = "A Source0 is signalled, and a run of one pass performs it."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            try BareEvents.poll(),
            try ThreadOperation(Outcome.kit, .named("source0-and-run")),
            try ThreadOperation("RunLoopKit, one of 1,000", .named("source0s@1000")),
            try ThreadOperation("CFRunLoop") { makeCFSignals(1) },
            try ThreadOperation("CFRunLoop, one of 1,000") { makeCFSignals(1_000) },
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) signals and runs",
            rows: subjects.measured(name, effort), bare: "epoll_wait(0)")
    }
}

private func makeCFSignals(_ size: Int) -> ThreadOperation.Body {
    let sources = (0..<size).map { _ in CFThread.makeIdleSource() }
    for source in sources { CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode) }
    return { count in
        for number in 0..<count {
            CFRunLoopSourceSignal(sources[number % size])
            _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
        }
    }
}
