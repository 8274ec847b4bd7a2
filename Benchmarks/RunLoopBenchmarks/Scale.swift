import Foundation
import Operations

/// How the cost of each operation grows with the number of items in the loop.
enum Scale {
    /// An operation's costs.
    struct Result {
        let name: String
        /// CPU time of one operation in nanoseconds, for each number of items.
        let costs: [(size: Int, nanoseconds: Double)]
        let growth: Growth
    }

    static let operations = GrowingOperation.all

    static func measure(_ operation: GrowingOperation, _ effort: Effort) throws -> Result {
        let costs = try operation.sizes.filter { $0 <= effort.greatestSize }.map { size in
            Progress.show("\(operation.name): \(size)")
            return (size: size, nanoseconds: try cost(of: ThreadOperation("", operation.sized(size)), effort))
        }
        return Result(name: operation.name, costs: costs, growth: Growth(costs))
    }

    /// The least of several rounds, each long enough for the clock.
    private static func cost(of operation: ThreadOperation, _ effort: Effort) -> Double {
        var count = 1
        while operation.measureCPUTime(count) < effort.scaleRound, count < 1 << 20 { count *= 2 }
        let rounds = (0..<effort.scaleRounds).map { _ in operation.measureCPUTime(count) }
        return Double(rounds.min()!) / Double(count)
    }
}

extension Effort {
    fileprivate var isQuick: Bool { operationRounds <= Effort.quick.operationRounds }
    fileprivate var greatestSize: Int { isQuick ? 1_000 : .max }
    /// In nanoseconds.
    fileprivate var scaleRound: Int64 { isQuick ? 50_000 : 2_000_000 }
    fileprivate var scaleRounds: Int { isQuick ? 2 : 7 }
}

/// How a cost grows with a number.
struct Growth {
    /// The exponent of the number in the cost: 0 for a constant cost, 1 for a linear one.
    ///
    /// The median of the slopes between each two points on logarithmic axes, so that one wrong point does not count.
    /// Without the least number where there are enough others: what an operation costs anyway hides the growth there.
    let exponent: Double

    init(_ costs: [(size: Int, nanoseconds: Double)]) {
        let points = costs.suffix(max(2, costs.count - 1)).map { (log(Double($0.size)), log(max($0.nanoseconds, 1))) }
        let slopes = points.indices.flatMap { later in
            points[..<later].map { (points[later].1 - $0.1) / (points[later].0 - $0.0) }
        }.sorted()
        let middle = slopes.count / 2
        exponent = slopes.count % 2 == 1 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2
    }

    /// A logarithm, and the caches that many items do not fit into, look like a small exponent.
    var verdict: String {
        switch exponent {
        case ..<0.09: "constant"
        case ..<0.35: "logarithmic"
        case ..<1.25: "linear"
        default: "quadratic"
        }
    }
}
