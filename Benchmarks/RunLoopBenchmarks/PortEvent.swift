import CLinux
import Foundation
import Operations

/// A port is sent to on the loop's own thread, and a run handles it.
struct PortEvent: Scenario {
    let name = "port-event"
    let summary = "A port is sent to, and a run of one pass handles it."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            try BareEvents.edges(),
            try ThreadOperation(Outcome.kit, .named("port-and-run")),
            try ThreadOperation("RunLoopKit, one of 1,000", .named("ports@1000")),
            try ThreadOperation("RunLoopKit, MessagePort", .named("message-and-run")),
            try ThreadOperation("RunLoopKit, MessagePort of 1,000", .named("message-ports@1000")),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) sends and runs",
            rows: subjects.measured(name, effort), bare: "eventfd, edge")
    }
}

/// A byte is written to a pipe on the loop's own thread, and a run calls the handler that reads it.
struct PipeEvent: Scenario {
    let name = "pipe-event"
    let summary = "A byte is written to a pipe, and a run of one pass calls the handler that reads it."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            try BareEvents.pipes(), try ThreadOperation(Outcome.kit, .named("pipe-and-run")),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) bytes and runs",
            rows: subjects.measured(name, effort), bare: "pipe, level + read")
    }
}

extension BareEvents {
    /// An eventfd that is written and waited for, and never read.
    fileprivate static func edges() throws -> ThreadOperation {
        try ThreadOperation("eventfd, edge") {
            let signal = EdgeSignal()
            return { count in
                for _ in 0..<count {
                    signal.send()
                    signal.wait()
                }
            }
        }
    }

    fileprivate static func pipes() throws -> ThreadOperation {
        try ThreadOperation("pipe, level + read") {
            let pipe = Pipe()
            let (input, output) = (pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor)
            let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
            watch(input, by: poll, CLINUX_EPOLLIN)
            return { count in
                var byte: UInt8 = 0
                for _ in 0..<count {
                    check("write", write(output, &byte, 1))
                    waitForOne(poll)
                    check("read", read(input, &byte, 1))
                }
                withExtendedLifetime(pipe) {}
            }
        }
    }
}
