import CAllocator
import RunLoopKit

/// The memory of what a loop contains, and of what it contained before.
struct Memory: Scenario {
    let name = "memory"
    let summary = "Bytes for each timer, source, block, limiter and key, and those kept when all have left."

    func run(_ effort: Effort) throws -> Outcome {
        let count = 20 * effort.operationsPerRound
        return Outcome(
            scenario: name, title: "\(count) of each", rows: try Contents.all.map { try $0.measured(count) },
            bare: "32 bytes, allocated",
            notes: [
                "\(Outcome.kit): a timer in one mode. Handlers capture nothing.",
                "Included is the array of the items: 8 to 16 bytes each.",
                "An idle debounce was called, and its burst is over.",
                "kept: after the last has left, and a hundred runs.",
            ])
    }
}

/// Many items of one kind.
private struct Contents: Sendable {
    let name: String
    /// Puts so many into the loop. The result takes them out.
    let fill: @Sendable (_ loop: Loop, _ count: Int) throws -> () -> Void

    static let all = [
        Contents(name: "32 bytes, allocated") { _, count in
            let allocations = (0..<count).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 8) }
            return { for allocation in allocations { allocation.deallocate() } }
        },
        items(Outcome.kit, in: .default) { Loop.Timer(after: .seconds(3_600)) { _ in } },
        items("RunLoopKit, timer in common", in: .common) { Loop.Timer(after: .seconds(3_600)) { _ in } },
        items("RunLoopKit, Source0", in: .default) { Loop.Source0 {} },
        items("RunLoopKit, observer", in: .default) { Loop.Observer { _, _ in } },
        items("RunLoopKit, MessagePort", in: .default) { Loop.MessagePort<Int> { _ in } },
        Contents(name: "RunLoopKit, block") { loop, count in
            for _ in 0..<count { loop.perform(in: "blocks") {} }
            return { loop.run(mode: "blocks", for: .zero) }
        },
        debounces("RunLoopKit, debounce in a burst") { _ in },
        debounces("RunLoopKit, idle debounce") { for limiter in $0 { limiter.flush() } },
        Contents(name: "RunLoopKit, key in a burst") { loop, count in
            let limiter = KeyedDebounce<Int, Int>(interval: .seconds(3_600), on: loop) { _, _ in }
            for key in 0..<count { limiter(key, for: key) }
            return { limiter.cancelAll() }
        },
    ]

    /// Limiters that have begun a burst.
    private static func debounces(
        _ name: String, _ end: @escaping @Sendable (_ limiters: [Debounce<Int>]) -> Void
    ) -> Contents {
        Contents(name: name) { loop, count in
            // Flushed, since a discarded call would be reported.
            var limiters = (0..<count).map { _ in
                Debounce<Int>(interval: .seconds(3_600), on: loop, whenReleased: .flush) { _ in }
            }
            for limiter in limiters { limiter(1) }
            end(limiters)
            return { limiters = [] }
        }
    }

    private static func items(
        _ name: String, in mode: Loop.Mode, _ make: @escaping @Sendable () -> Loop.Item
    ) -> Contents {
        Contents(name: name) { loop, count in
            var items = (0..<count).map { _ in make() }
            for item in items { loop.add(item, in: mode) }
            return {
                // From the end, since an array that contains them may be searched.
                while let item = items.popLast() { item.invalidate() }
                items = []
            }
        }
    }

    /// On a thread of its own, whose loop is new.
    func measured(_ count: Int) throws -> Row {
        Progress.show("memory: \(name)")
        final class Figures: @unchecked Sendable { var before = 0, full = 0, after = 0 }
        let figures = Figures()
        let thread = try ThreadOperation(name) {
            let loop = Loop.current
            loop.add(try Loop.PortSource { _ in })
            return { count in
                loop.run(for: .zero)
                figures.before = Int(callocator_allocated_bytes())
                let remove = try! fill(loop, count)
                figures.full = Int(callocator_allocated_bytes())
                remove()
                for _ in 0..<100 { loop.run(for: .zero) }
                figures.after = Int(callocator_allocated_bytes())
            }
        }
        _ = thread.measure(count)
        let (used, kept) = (figures.full - figures.before, figures.after - figures.before)
        return Row(name, [.count("bytes", used / count), .count("kept", max(0, kept) / count)])
    }
}
