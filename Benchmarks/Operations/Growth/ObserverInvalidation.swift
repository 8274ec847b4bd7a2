import RunLoopKit

extension GrowingOperation {
    static let observerInvalidation = GrowingOperation(
        "observer-add-invalidate", "An observer is added to so many others, and invalidated."
    ) { loop, size in
        for _ in 0..<size { loop.add(Loop.Observer { _, _ in }) }
        return { count in
            for _ in 0..<count {
                let observer = Loop.Observer { _, _ in }
                loop.add(observer)
                observer.invalidate()
            }
        }
    }
}
