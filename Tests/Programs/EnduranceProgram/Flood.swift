import RunLoopKit

/// Two threads give a loop ten million things.
final class Flood: Scenario, @unchecked Sendable {
    let probed: LoopThread
    private let producers = (0..<2).map { _ in try! LoopThread(name: "producer") }
    private let count: Int
    private let work: any FloodWork

    init(_ count: Int, _ make: (LoopThread) -> any FloodWork) {
        self.count = count
        probed = try! LoopThread(name: "flooded")
        work = make(probed)
    }

    /// Each producer waits for its pieces, so that what waits is bounded.
    func play(_ window: Int, of windows: Int) {
        let work = work
        for (index, producer) in producers.enumerated() {
            var rest = share(count / 2, window, of: windows)
            while !rest.isEmpty {
                let piece = rest.prefix(work.piece)
                rest = rest.dropFirst(work.piece)
                producer.perform {
                    work.produce(piece, index)
                    work.wait(for: piece.upperBound, of: index)
                }
            }
        }
        for producer in producers { try! producer.performAndWait {} }
    }

    func finish() -> [String] {
        let faults =
            work.finish() + (0...1).flatMap { compare(work.handled($0), count / 2, "handled, of thread \($0)") }
        for thread in producers + [probed] {
            thread.stop()
            thread.join()
        }
        return faults
    }
}

/// What the loop of a flood is given.
protocol FloodWork: AnyObject, Sendable {
    var consumer: LoopThread { get }

    /// How many things wait for the loop at most.
    var piece: Int { get }

    /// Gives the loop the things with these numbers.
    func produce(_ numbers: Range<Int>, _ producer: Int)

    /// How many of a producer's things have been handled. Called on the loop's thread while the flood lasts.
    func handled(_ producer: Int) -> Int

    /// Takes everything out of the loop. Returns what was wrong.
    func finish() -> [String]
}

extension FloodWork {
    var piece: Int { 1_000 }

    /// Returns when so many things of a producer have been handled: each look is a pass of the loop.
    func wait(for count: Int, of producer: Int) {
        while try! consumer.performAndWait({ self.handled(producer) }) < count {}
    }
}
