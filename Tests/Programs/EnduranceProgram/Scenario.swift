import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A program that is played window by window.
protocol Scenario: Sendable {
    /// The loop whose latency is measured.
    var probed: LoopThread { get }

    /// Does a part of the work, and returns when nothing of it is left to do.
    func play(_ window: Int, of windows: Int)

    /// Ends everything. Returns what was lost, came twice, or is left.
    func finish() -> [String]
}

extension Scenario {
    /// The part of `count` things that belongs to a window.
    func share(_ count: Int, _ window: Int, of windows: Int) -> Range<Int> {
        count * window / windows..<count * (window + 1) / windows
    }
}

func complain(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(2, bytes, bytes.count)
}

func compare(_ found: Int, _ expected: Int, _ name: String) -> [String] {
    found == expected ? [] : ["\(name): \(found), not \(expected)"]
}
