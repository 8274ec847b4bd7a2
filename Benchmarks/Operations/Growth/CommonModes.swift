import RunLoopKit

extension GrowingOperation {
    static let commonModes = GrowingOperation(
        "common-modes", "A source is added to so many common modes, and invalidated.", sizes: [4, 100, 400]
    ) { loop, size in
        for number in 0..<size { loop.addCommonMode(Loop.Mode("common \(number)")) }
        return { count in
            for _ in 0..<count {
                let source = Loop.Source0 {}
                loop.add(source, in: .common)
                source.invalidate()
            }
        }
    }
}
