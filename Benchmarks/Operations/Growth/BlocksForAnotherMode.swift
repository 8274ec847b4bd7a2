import RunLoopKit

extension GrowingOperation {
    static let blocksForAnotherMode = GrowingOperation(
        "blocks-for-another-mode", "A run of one pass while so many blocks wait for another mode."
    ) { loop, size in
        loop.add(try Loop.PortSource { _ in })
        for _ in 0..<size { loop.perform(in: "another") {} }
        return { count in for _ in 0..<count { loop.run(for: .zero) } }
    }
}
