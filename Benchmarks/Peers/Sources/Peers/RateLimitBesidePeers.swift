import AsyncAlgorithms
import Foundation
import OpenCombine
import OpenCombineDispatch
import OpenCombineFoundation
import RunLoopKit

/// A call inside a burst: of a limiter, or a value that passes through another library's operator.
struct RateLimitBesidePeers: Scenario {
    let name = "rate-limit-call"
    let summary = "100 calls of a limiter inside a burst."

    func run(_ effort: Effort) throws -> Outcome {
        let (effort, repetitions) = (effort.short, 100)
        let add = { (name: String, prepare: @escaping @Sendable () throws -> ThreadOperation.Body) in
            try ThreadOperation(name, repetitions: repetitions, prepare)
        }
        let subjects: [any OperationSubject] = [
            try add("clock_gettime") { { count in for _ in 0..<count { _ = monotonicNow() } } },
            try add(Outcome.kit) { try Operation.named("debounce-call").prepare(.current) },
            try add("RunLoopKit, throttle") { try Operation.named("throttle-call").prepare(.current) },
            try add("RunLoopKit, async debounce") { try Operation.named("async-debounce-call").prepare(.current) },
            try add("OpenCombine, Dispatch, debounce") {
                let queue = DispatchQueue(label: "limiter").ocombine
                return Combine { $0.debounce(for: .milliseconds(10), scheduler: queue) }.send
            },
            try add("OpenCombine, Dispatch, throttle") {
                let queue = DispatchQueue(label: "limiter").ocombine
                return Combine { $0.throttle(for: .seconds(3_600), scheduler: queue, latest: false) }.send
            },
            try add("OpenCombine, RunLoop, debounce") {
                let loop = RunLoop.current.ocombine
                return Combine { $0.debounce(for: .seconds(3_600), scheduler: loop) }.send
            },
            try add("OpenCombine, RunLoop, throttle") {
                let loop = RunLoop.current.ocombine
                return Combine { $0.throttle(for: .seconds(3_600), scheduler: loop, latest: false) }.send
            },
            Elements("AsyncAlgorithms, debounce", repetitions) { elements in
                for await _ in elements.debounce(for: .milliseconds(10)) {}
            },
            Elements("AsyncAlgorithms, throttle", repetitions) { elements in
                for await _ in elements._throttle(for: .milliseconds(10)) {}
            },
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times \(repetitions) calls",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: [
                "Every figure is for \(repetitions) calls. \(Outcome.kit): a debounce, called on its loop's thread.",
                "OpenCombine: a value sent to a PassthroughSubject. With Dispatch the debounce has 10 ms, "
                    + "since cancelled work waits in the queue until it is due.",
                "AsyncAlgorithms: elements of a filled AsyncStream, from the first until the operator takes the last. "
                    + "The interval is 10 ms, which it waits for at the end.",
            ])
    }
}

/// A subject, an operator and a subscriber.
private final class Combine {
    private let subject = PassthroughSubject<Int, Never>()
    private let subscription: AnyCancellable

    init(_ limit: (PassthroughSubject<Int, Never>) -> some Publisher<Int, Never>) {
        subscription = limit(subject).sink { _ in }
    }

    func send(_ count: Int) { for number in 0..<count { subject.send(number) } }
}

private final class Elements: OperationSubject {
    typealias Sequence = AsyncMapSequence<AsyncStream<Int>, Int>

    let name: String
    private let repetitions: Int
    private let consume: @Sendable (Sequence) async -> Void

    init(_ name: String, _ repetitions: Int, _ consume: @escaping @Sendable (Sequence) async -> Void) {
        (self.name, self.repetitions, self.consume) = (name, repetitions, consume)
    }

    func measure(_ count: Int) -> Int64 {
        let (elements, continuation) = AsyncStream.makeStream(of: Int.self)
        let last = count * repetitions - 1
        for number in 0...last { continuation.yield(number) }
        continuation.finish()
        final class Result: @unchecked Sendable { var elapsed: Int64 = 0 }
        let (result, isOver) = (Result(), DispatchSemaphore(value: 0))
        Task.detached { [consume] in
            let start = monotonicNow()
            await consume(
                elements.map { number in
                    if number == last { result.elapsed = monotonicNow() - start }
                    return number
                })
            isOver.signal()
        }
        isOver.wait()
        return result.elapsed
    }
}
