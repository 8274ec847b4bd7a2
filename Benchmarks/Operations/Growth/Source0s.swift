import RunLoopKit

extension GrowingOperation {
    static let source0s = GrowingOperation(
        "source0s", "One of so many sources is signalled, and a run performs it."
    ) { loop, size in
        let sources = (0..<size).map { _ in Loop.Source0 {} }
        for source in sources { loop.add(source) }
        return { count in
            for number in 0..<count {
                sources[number % size].signal()
                loop.run(for: .zero)
            }
        }
    }
}
