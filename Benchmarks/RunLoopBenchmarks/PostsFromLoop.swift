import CoreFoundation
import Foundation
import Operations

/// A loop's own thread posts blocks to its loop: many at once, or each block the next one.
struct PostsFromLoop: Scenario {
    let name = "posts-from-loop"
    let summary = "100 blocks posted to a loop by its own thread: at once, or each by the one before."

    func run(_ effort: Effort) throws -> Outcome {
        let (effort, repetitions) = (effort.short, 100)
        let subjects: [any OperationSubject] = [
            try ThreadOperation("array, batch", repetitions: repetitions, makeArrayBatch),
            try ThreadOperation(Outcome.kit, .named("post-batch"), repetitions: repetitions),
            try ThreadOperation("RunLoopKit, chain", .named("post-chain"), repetitions: repetitions),
            try ThreadOperation("Dispatch, batch", repetitions: repetitions, makeDispatchBatch),
            try ThreadOperation("Dispatch, chain", repetitions: repetitions, makeDispatchChain),
            try ThreadOperation("CFRunLoop, batch", repetitions: repetitions, makeCFBatch),
            try ThreadOperation("CFRunLoop, chain", repetitions: repetitions, makeCFChain),
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times \(repetitions) blocks",
            rows: subjects.measured(name, effort), bare: "array, batch",
            notes: ["Every figure is for \(repetitions) blocks. \(Outcome.kit): a batch."])
    }
}

@Sendable private func makeArrayBatch() -> ThreadOperation.Body {
    var blocks: [() -> Void] = []
    let block = { blackHole() }
    return { count in
        for _ in 0..<count { blocks.append(block) }
        for block in blocks { block() }
        blocks.removeAll(keepingCapacity: true)
    }
}

@inline(never) private func blackHole() {}

@Sendable private func makeDispatchBatch() -> ThreadOperation.Body {
    let queue = DispatchQueue(label: "batch")
    let isOver = DispatchSemaphore(value: 0)
    return { count in
        queue.async {
            for _ in 0..<count { queue.async {} }
            queue.async { isOver.signal() }
        }
        isOver.wait()
    }
}

@Sendable private func makeDispatchChain() -> ThreadOperation.Body {
    let queue = DispatchQueue(label: "chain")
    let isOver = DispatchSemaphore(value: 0)
    let chain = Chain(post: { queue.async(execute: $0) }, end: { isOver.signal() })
    return { count in
        chain.begin(count)
        isOver.wait()
    }
}

@Sendable private func makeCFBatch() -> ThreadOperation.Body {
    let loop = CFRunLoopGetCurrent()
    return { count in
        for _ in 0..<count { CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {} }
        _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
    }
}

@Sendable private func makeCFChain() -> ThreadOperation.Body {
    CFRunLoopAddSource(CFRunLoopGetCurrent(), CFThread.makeIdleSource(), kCFRunLoopDefaultMode)
    let post: (@escaping CFThread.Block) -> Void = {
        CFRunLoopPerformBlock(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode, $0)
        CFRunLoopWakeUp(CFRunLoopGetCurrent())
    }
    let chain = Chain(post: post, end: { CFRunLoopStop(CFRunLoopGetCurrent()) })
    return { count in
        chain.begin(count)
        _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 3_600, false)
    }
}

/// A block that posts itself a number of times.
private final class Chain: @unchecked Sendable {
    private let post: (@escaping CFThread.Block) -> Void
    private let end: () -> Void
    private var left = 0
    private var block: CFThread.Block = {}

    init(post: @escaping (@escaping CFThread.Block) -> Void, end: @escaping () -> Void) {
        (self.post, self.end) = (post, end)
        block = { [unowned(unsafe) self] in next() }
    }

    private func next() {
        left -= 1
        if left > 0 { post(block) } else { end() }
    }

    /// Posts the block, which runs `count` times.
    func begin(_ count: Int) {
        left = count
        post(block)
    }
}
