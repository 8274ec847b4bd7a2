import CLinux
import CoreFoundation
import Operations

/// A pass that finds nothing to do: what a loop adds to each event that it handles.
struct EmptyPass: Scenario {
    let name = "empty-pass"
    let summary = "A pass that finds nothing to do, inside a run and as a run of its own."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            try BareEvents.poll(),
            try ThreadOperation(Outcome.kit, .named("pass")),
            try MainLoopPasses(),
            try ThreadOperation("RunLoopKit, with a pipe", .named("pass-beside-pipe")),
            try ThreadOperation("RunLoopKit, run for zero", .named("run-for-zero")),
            try ThreadOperation("RunLoopKit, hosted", .named("hosted-pass")),
            try ThreadOperation("CFRunLoop", CFPasses.insideRun),
            try ThreadOperation("CFRunLoop, run for zero", CFPasses.runs),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) passes",
            rows: subjects.measured(name, effort), bare: "epoll_wait(0)",
            notes: [
                "\(Outcome.kit), CFRunLoop: an observer wakes the loop each time, so that it does not sleep.",
                "\(Outcome.kit) asks the kernel only in the rows hosted, with a pipe, and of Loop.main: elsewhere it "
                    + "knows by itself.",
            ])
    }
}

/// Bare system calls of one thread.
enum BareEvents {
    /// Asks an epoll set whether its only descriptor, an eventfd, is ready. It is not.
    static func poll() throws -> ThreadOperation {
        try ThreadOperation("epoll_wait(0)") {
            let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
            watch(check("eventfd", eventfd(0, Int32(EFD_CLOEXEC))), by: poll, CLINUX_EPOLLIN | CLINUX_EPOLLET)
            return { count in
                var event = epoll_event()
                for _ in 0..<count { check("epoll_wait", epoll_wait(poll, &event, 1, 0)) }
            }
        }
    }
}

/// Passes of a CFRunLoop on the calling thread.
private enum CFPasses {
    @Sendable static func insideRun() -> ThreadOperation.Body {
        addIdleSource()
        final class Passes { var left = 0 }
        let passes = Passes()
        let loop = CFRunLoopGetCurrent()
        let observer = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.beforeWaiting.rawValue, true, 0) {
            _, _ in
            passes.left -= 1
            if passes.left >= 0 { CFRunLoopWakeUp(loop) } else { CFRunLoopStop(loop) }
        }
        CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)
        return { count in
            passes.left = count
            _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 3_600, false)
        }
    }

    @Sendable static func runs() -> ThreadOperation.Body {
        addIdleSource()
        return { count in for _ in 0..<count { _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) } }
    }

    private static func addIdleSource() {
        CFRunLoopAddSource(CFRunLoopGetCurrent(), CFThread.makeIdleSource(), kCFRunLoopDefaultMode)
    }
}
