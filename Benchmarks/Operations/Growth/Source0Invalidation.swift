import RunLoopKit

extension GrowingOperation {
    static let source0Invalidation = GrowingOperation(
        "source0-add-invalidate", "A source is added to so many others, and invalidated."
    ) { loop, size in
        for _ in 0..<size { loop.add(Loop.Source0 {}) }
        return { count in
            for _ in 0..<count {
                let source = Loop.Source0 {}
                loop.add(source)
                source.invalidate()
            }
        }
    }
}
