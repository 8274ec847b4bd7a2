import Foundation

/// Measured values, sorted.
struct Samples {
    let sorted: [Int64]

    /// - Precondition: `values` is not empty.
    init(_ values: some Sequence<Int64>) {
        sorted = values.sorted()
        precondition(!sorted.isEmpty, "nothing was measured")
    }

    var min: Int64 { sorted[0] }
    var max: Int64 { sorted[sorted.count - 1] }
    var median: Int64 { percentile(50) }

    /// The smallest measured value that at least `percent` of all values do not exceed.
    func percentile(_ percent: Int) -> Int64 { quantile(perTenThousand: 100 * percent) }

    /// The same, of so many ten thousandths of all values.
    func quantile(perTenThousand share: Int) -> Int64 {
        let rank = (sorted.count * share + 9_999) / 10_000
        return sorted[Swift.max(rank, 1) - 1]
    }
}

/// Buckets that grow by a constant factor, so that a histogram shows both fast values and values a thousand times
/// slower.
struct LogScale {
    let bucketCount: Int
    private let low: Double
    private let bucketsPerFactorOfE: Double

    /// A scale from the least of `values` to the greatest, but at most to ten times the greatest median. Values beyond
    /// are in the last bucket: a single value of a thousand times the others must not crowd them into a few buckets.
    /// Values below 1 are in the first bucket.
    init(of values: [Samples], bucketCount: Int) {
        let least = Double(Swift.max(values.map(\.min).min() ?? 1, 1))
        let greatest = Double(values.map { Swift.min($0.max, 10 * $0.median) }.max() ?? 1)
        self.bucketCount = bucketCount
        low = log(least)
        // The last bucket begins at the greatest value. If all values are equal, the width does not matter.
        bucketsPerFactorOfE = Double(bucketCount - 1) / Swift.max(log(Swift.max(greatest, least)) - low, 0.001)
    }

    func bucket(of value: Int64) -> Int {
        let place = (log(Double(Swift.max(value, 1))) - low) * bucketsPerFactorOfE
        return Swift.min(Swift.max(Int(place.rounded(.down)), 0), bucketCount - 1)
    }

    /// The bucket that begins nearest to `value`; nil when it is outside the scale.
    func place(of value: Int64) -> Int? {
        let place = ((log(Double(value)) - low) * bucketsPerFactorOfE).rounded()
        return (0...Double(bucketCount - 1)).contains(place) ? Int(place) : nil
    }

    func counts(of samples: Samples) -> [Int] {
        var counts = [Int](repeating: 0, count: bucketCount)
        for value in samples.sorted { counts[bucket(of: value)] += 1 }
        return counts
    }
}
