import RunLoopKit

extension GrowingOperation {
    static let withdrawal = GrowingOperation(
        "post-withdraw", "A block is posted behind so many others, and withdrawn."
    ) { loop, size in
        for _ in 0..<size { loop.perform {} }
        return { count in for _ in 0..<count { loop.performCancellable {}!.withdraw() } }
    }
}
