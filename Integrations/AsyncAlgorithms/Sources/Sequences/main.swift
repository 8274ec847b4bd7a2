// The sequences of a loop with the operators of swift-async-algorithms, and back to a loop.
import AsyncAlgorithms
import RunLoopKit

let worker = try LoopThread(name: "worker")

enum Input: Sendable { case tick, word(String) }

/// Words of a message port and ticks of a timer, in one sequence, in portions of three.
@MainActor func portions() async {
    let (port, words) = Loop.MessagePort<String>.makeMessages(on: worker.loop)
    for word in ["merge", "joins", "sequences"] { port.send(word) }
    let inputs = merge(worker.loop.ticks(every: .milliseconds(20)).map { _ in Input.tick }, words.map { .word($0) })
    for await portion in inputs.chunks(ofCount: 3) {
        let words = portion.compactMap { if case .word(let word) = $0 { word } else { nil } }
        print("three inputs, with the words \(words)")
        break
    }
}

/// A search field: the text after a pause of 20 ms on the worker's clock, delivered to the main loop.
@MainActor func search() async {
    let (port, texts) = Loop.MessagePort<String>.makeMessages(on: worker.loop)
    let pauses = texts.debounce(for: .milliseconds(20), clock: .loop(worker.loop)).prefix(1)
    await withCheckedContinuation { continuation in
        let source = Loop.Source0(delivering: pauses) { text in
            print("search for '\(text)', on main: \(Loop.main.isOnOwnThread)")
        } onEnd: { _ in
            continuation.resume()
        }
        Loop.main.add(source, in: .common)
        for text in ["l", "lo", "loop"] { port.send(text) }
    }
}

Loop.runMain {
    await portions()
    await search()
}
print("ended")
