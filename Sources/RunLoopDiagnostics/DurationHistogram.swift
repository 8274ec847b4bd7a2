import RunLoopKit
import Synchronization

/// How often durations of each length have occurred: a snapshot of what a loop has counted, or a program's own count.
///
/// ```swift
/// var waits = DurationHistogram()
/// waits.record(.milliseconds(3))
/// print(waits)  // 1, median 3.00 ms, 99 % within 3.00 ms, at most 3.00 ms
/// ```
///
/// The buckets are log-linear: sixteen of equal width between a power of two and the next, in nanoseconds. So a
/// percentile is at most a sixteenth too long, and the memory is constant. Durations of 2^44 ns (4.9 hours) and more
/// share one bucket: a percentile among them is the longest of all.
public struct DurationHistogram: Equatable, Sendable, CustomStringConvertible {
    /// The number of durations.
    public private(set) var count: Int

    /// The longest one; zero if there is none.
    public private(set) var maximum: Duration

    private var counts: [Int]

    /// Makes one without durations. It takes 5 KB.
    public init() { self.init(counts: Array(repeating: 0, count: Buckets.count), maximum: 0) }

    fileprivate init(counts: [Int], maximum: Int64) {
        self.counts = counts
        count = counts.reduce(0, +)
        self.maximum = .nanoseconds(maximum)
    }

    /// Counts a duration. One below zero counts as zero.
    public mutating func record(_ duration: Duration) {
        let nanoseconds = max(0, duration.wholeNanoseconds)
        counts[Buckets.index(of: nanoseconds)] += 1
        count += 1
        maximum = max(maximum, .nanoseconds(nanoseconds))
    }

    /// The duration that a share of all durations does not exceed, rounded up to the end of its bucket; zero if there
    /// are no durations.
    ///
    /// - Parameter percent: From 0 to 100, such as 99.9. Less, and NaN, counts as 0; more as 100.
    public func percentile(_ percent: Double) -> Duration {
        guard count > 0 else { return .zero }
        let share = percent > 0 ? min(percent, 100) / 100 : 0
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += number
            if seen >= rank { return min(.nanoseconds(Buckets.end(of: index)), maximum) }
        }
        return maximum
    }

    /// The number of durations, the median, the 99th percentile and the longest one.
    public var description: String {
        guard count > 0 else { return "none" }
        let (median, high) = (percentile(50).inWords, percentile(99).inWords)
        return "\(count), median \(median), 99 % within \(high), at most \(maximum.inWords)"
    }

    /// A picture in lines of text: a limit, how many durations it has that are longer than the limit above, and a bar.
    /// The limits are 1, 2 or 5 of a decimal place, to a sixteenth.
    ///
    /// ```swift
    /// var waits = DurationHistogram()
    /// for milliseconds in [1, 4, 4, 3] { waits.record(.milliseconds(milliseconds)) }
    /// print(waits.bars(width: 9))
    /// // 1.00 ms  1      ###
    /// // 2.00 ms  0
    /// // 5.00 ms  3      #########
    /// ```
    ///
    /// - Parameter width: The characters of the longest bar, from 1 to 1,000.
    public func bars(width: Int = 40) -> String {
        let rows = rows
        guard let most = rows.map(\.count).max() else { return "none" }
        let width = Double(min(max(1, width), 1_000))
        return rows.map { limit, count in
            let limit = limit.inWords.padded(to: 8)
            guard count > 0 else { return "\(limit) 0" }
            // What there is can be seen.
            let length = max(1, Int(width * Double(count) / Double(most)))
            return "\(limit) \("\(count)".padded(to: 6)) \(String(repeating: "#", count: length))"
        }.joined(separator: "\n")
    }

    /// From the first limit that has durations to the last.
    private var rows: ArraySlice<(limit: Duration, count: Int)> {
        var rows: [(limit: Duration, count: Int)] = []
        var index = 0
        var place: Int64 = 1
        while index < counts.count {
            for digit: Int64 in [1, 2, 5] {
                var count = 0
                while index < counts.count, Buckets.start(of: index) <= digit * place {
                    count += counts[index]
                    index += 1
                }
                rows.append((.nanoseconds(digit * place), count))
            }
            place *= 10
        }
        let (first, last) = (rows.firstIndex { $0.count > 0 }, rows.lastIndex { $0.count > 0 })
        return first.map { rows[$0...last!] } ?? []
    }

    /// The durations that were counted after an earlier snapshot. The longest one is rounded up to the end of its
    /// bucket, unless it is the longest of all.
    public func since(_ earlier: DurationHistogram) -> DurationHistogram {
        let counts = zip(counts, earlier.counts).map { max(0, $0 - $1) }
        let end = counts.lastIndex { $0 > 0 }.map(Buckets.end)
        return DurationHistogram(counts: counts, maximum: min(end ?? 0, maximum.wholeNanoseconds))
    }
}

/// Counts durations on one thread, for any thread to read. Never allocates after it was made.
///
/// Relaxed everywhere: the counters are statistics and order nothing. A snapshot that is taken during a change has the
/// change or lacks it.
final class HistogramRecorder: @unchecked Sendable {
    private let counts: UnsafeMutablePointer<Atomic<Int>>
    private let maximum = Atomic<Int64>(0)

    init() {
        counts = .allocate(capacity: Buckets.count)
        for index in 0..<Buckets.count { (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        counts.deinitialize(count: Buckets.count)
        counts.deallocate()
    }

    /// Counts a duration in nanoseconds; a negative one as zero. On one thread at a time.
    func record(_ nanoseconds: Int64) {
        let nanoseconds = max(0, nanoseconds)
        Loop.Tally.count(counts[Buckets.index(of: nanoseconds)])
        if nanoseconds > maximum.load(ordering: .relaxed) { maximum.store(nanoseconds, ordering: .relaxed) }
    }

    var snapshot: DurationHistogram {
        DurationHistogram(
            counts: (0..<Buckets.count).map { counts[$0].load(ordering: .relaxed) },
            maximum: maximum.load(ordering: .relaxed))
    }
}

/// Log-linear buckets for nanoseconds. Values of 2^44 ns, which is almost five hours, and more share the last.
private enum Buckets {
    private static let linearBits = 4
    private static let width = 1 << linearBits
    private static let largestExponent = 43

    static let count = (largestExponent - linearBits + 2) * width + 1

    /// Values below 16 have a bucket each. Above, the four bits behind the highest one select among sixteen.
    static func index(of value: Int64) -> Int {
        guard value >= width else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        guard exponent <= largestExponent else { return count - 1 }
        let shift = exponent - linearBits
        return (shift + 1) * width + Int(value >> Int64(shift)) & (width - 1)
    }

    static func start(of index: Int) -> Int64 { index == 0 ? 0 : end(of: index - 1) + 1 }

    /// The largest value in a bucket. The last one has no end.
    static func end(of index: Int) -> Int64 {
        guard index >= width else { return Int64(index) }
        guard index < count - 1 else { return .max }
        let shift = index / width - 1
        return (Int64(width + index % width + 1) << Int64(shift)) - 1
    }
}
