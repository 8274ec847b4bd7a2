/// The costs of operations, and how they grow.
enum ScaleReport {
    /// A line for each operation. A column for each number of items would not fit all: each cost has its number.
    static func text(_ results: [Scale.Result]) -> String {
        let rows = results.map { result in
            [result.name, result.growth.verdict, decimal(result.growth.exponent, digits: 2)]
                + result.costs.map { "\(decimal($0.nanoseconds, digits: 0)) @\(short($0.size))" }
        }
        let columns = rows.map(\.count).max() ?? 0
        let head = (["operation", "growth", "exponent", "ns @items"] + Array(repeating: "", count: columns)).prefix(
            columns)
        let table = [Array(head)] + rows
        let widths = (0..<columns).map { column in table.map { column < $0.count ? $0[column].count : 0 }.max()! }
        let lines = table.map { row in
            let cells = row.enumerated().map { column, cell in
                column < 2 ? cell.padded(to: widths[column]) : cell.leftPadded(to: widths[column])
            }
            return "  " + cells.joined(separator: "  ")
        }
        return "CPU time of one operation among so many items\n\n" + lines.joined(separator: "\n") + "\n"
    }

    static func json(_ results: [Scale.Result]) -> String {
        results.map { result in
            let costs = result.costs.map {
                line(result.name, "cpu@\($0.size)", "ns", decimal($0.nanoseconds, digits: 0))
            }
            return costs.joined()
                + line(result.name, "exponent", "ratio", decimal(result.growth.exponent, digits: 2))
        }.joined()
    }

    private static func line(_ operation: String, _ metric: String, _ unit: String, _ value: String) -> String {
        "{\"scenario\":\"scale\",\"subject\":\"\(operation)\",\"metric\":\"\(metric)\",\"unit\":\"\(unit)\","
            + "\"value\":\(value)}\n"
    }

    private static func short(_ size: Int) -> String { size < 1_000 ? "\(size)" : "\(size / 1_000)k" }
}
