import RunLoopKit

extension GrowingOperation {
    static let observersOfAnotherActivity = GrowingOperation(
        "observers-of-another-activity", "A run of one pass that calls one of so many observers."
    ) { loop, size in
        loop.add(try Loop.PortSource { _ in })
        for _ in 0..<size { loop.add(Loop.Observer(.afterWaiting) { _, _ in }) }
        loop.add(Loop.Observer(.beforeSources) { _, _ in })
        return { count in for _ in 0..<count { loop.run(for: .zero) } }
    }
}
