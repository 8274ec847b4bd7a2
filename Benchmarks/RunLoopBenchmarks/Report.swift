import Foundation

/// A table, and a histogram if the scenario has distributions, in 100 columns.
enum TextReport {
    static func text(_ outcome: Outcome) -> String {
        let headline = "\(outcome.scenario): \(outcome.title), on \(cpus)"
        let parts = [
            headline, table(outcome), Histogram.text(outcome.distributions),
            outcome.notes.map { "- \($0)" }.joined(separator: "\n"),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n\n"
    }

    /// The CPUs that the process may use, which `taskset` restricts: the bits of a mask, which Foundation's processor
    /// count ignores.
    private static var cpus: String {
        let key = "Cpus_allowed:"
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let mask = status.split(separator: "\n").first { $0.hasPrefix(key) }?.dropFirst(key.count) ?? ""
        let count = mask.reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
        return count == 1 ? "1 CPU" : "\(count) CPUs"
    }

    private static func table(_ outcome: Outcome) -> String {
        let figures = outcome.rows[0].figures
        let head = ["subject"] + figures.map(title) + ["× bare", "× \(Outcome.kit)"]
        let body = outcome.rows.map { row in
            [row.subject] + row.figures.map(text)
                + [outcome.bare, Outcome.kit].map { decimal(outcome.ratio(of: row, to: $0), digits: 2) }
        }
        let widths = head.indices.map { column in ([head] + body).map { $0[column].count }.max()! }
        let rule = widths.map { String(repeating: "─", count: $0) }
        return ([head, rule] + body).map { line($0, widths) }.joined(separator: "\n")
    }

    /// The subject on the left, figures on the right.
    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        let figures = zip(cells, widths).dropFirst().map { $0.leftPadded(to: $1) }
        return "  " + ([cells[0].padded(to: widths[0])] + figures).joined(separator: "  ")
    }

    private static func title(_ figure: Figure) -> String {
        figure.unit == .nanoseconds ? "\(figure.metric) µs" : figure.metric
    }

    private static func text(_ figure: Figure) -> String {
        figure.unit == .nanoseconds ? microseconds(figure.value) : "\(figure.value)"
    }

    private static func microseconds(_ nanoseconds: Int64) -> String { decimal(Double(nanoseconds) / 1_000, digits: 2) }
}

/// Distributions under one another on one logarithmic axis.
private enum Histogram {
    private static let bucketCount = 72
    private static let rowCount = 2
    private static let blocks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    static func text(_ distributions: [(subject: String, samples: Samples)]) -> String {
        guard !distributions.isEmpty else { return "" }
        let scale = LogScale(of: distributions.map(\.samples), bucketCount: bucketCount)
        let width = distributions.map(\.subject.count).max()!
        let bars = distributions.flatMap { distribution -> [String] in
            let rows = rows(of: scale.counts(of: distribution.samples))
            // The name stands beside the lowest row, on the axis that its bars grow from.
            let labels = [String](repeating: "", count: rowCount - 1) + [distribution.subject]
            return zip(labels, rows).map { "  \($0.padded(to: width)) │\($1.withoutTrailingSpaces)" }
        }
        let margin = String(repeating: " ", count: width + 3)
        return (bars + axis(scale).map { margin + $0 }).joined(separator: "\n")
    }

    /// The highest bar fills all rows, and no bucket with a value looks empty.
    private static func rows(of counts: [Int]) -> [String] {
        let highest = counts.max()!
        let levels = rowCount * (blocks.count - 1)
        let heights = counts.map { $0 == 0 ? 0 : max(1, ($0 * levels + highest / 2) / highest) }
        return (0..<rowCount).reversed().map { row in
            let base = row * (blocks.count - 1)
            return String(heights.map { blocks[min(max($0 - base, 0), blocks.count - 1)] })
        }
    }

    /// A line with marks at 1, 2 and 5 times each power of ten, and the line of their names. If two names would touch,
    /// the first one stays.
    private static func axis(_ scale: LogScale) -> [String] {
        var line = [Character](repeating: "─", count: bucketCount)
        var names = ""
        for value in marks {
            let name = shortName(value)
            guard let place = scale.place(of: value), place >= names.count + (names.isEmpty ? 0 : 2) else { continue }
            line[place] = "┬"
            names = names.padded(to: place) + name
        }
        return ["└" + String(line), " " + names]
    }

    private static var marks: [Int64] {
        (0..<10).flatMap { power in
            let ten = (0..<power).reduce(Int64(1)) { product, _ in product * 10 }
            return [ten, 2 * ten, 5 * ten]
        }
    }

    private static func shortName(_ nanoseconds: Int64) -> String {
        switch nanoseconds {
        case ..<1_000: "\(nanoseconds) ns"
        case ..<1_000_000: "\(nanoseconds / 1_000) µs"
        case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
        default: "\(nanoseconds / 1_000_000_000) s"
        }
    }
}

/// One JSON object a line: one for the title, each note, figure and ratio, and each quantile of a distribution.
enum JSONReport {
    static func text(_ outcome: Outcome) -> String {
        let figures = (outcome.rows + outcome.extras).flatMap { row in
            row.figures.map { line(outcome, row, $0.metric, $0.unit.rawValue, "\($0.value)") }
        }
        let ratios = outcome.rows.flatMap { row in
            [("ratio-to-bare", outcome.bare), ("ratio-to-RunLoopKit", Outcome.kit)].map { metric, reference in
                line(outcome, row, metric, "ratio", decimal(outcome.ratio(of: row, to: reference), digits: 3))
            }
        }
        return (texts(outcome) + figures + ratios + quantiles(outcome)).joined()
    }

    private static func texts(_ outcome: Outcome) -> [String] {
        ([("title", outcome.title)] + outcome.notes.map { ("note", $0) }).map { name, text in
            "{\"scenario\":\"\(outcome.scenario)\",\"\(name)\":\"\(text)\"}\n"
        }
    }

    /// For plots of distributions.
    private static func quantiles(_ outcome: Outcome) -> [String] {
        outcome.distributions.flatMap { subject, samples in
            (0...100).map { percent in
                line(outcome, Row(subject, []), "quantile@\(percent)", "ns", "\(samples.percentile(percent))")
            }
                + [("99.5", 9_950), ("99.9", 9_990), ("99.95", 9_995), ("99.99", 9_999)].map { percent, share in
                    let value = samples.quantile(perTenThousand: share)
                    return line(outcome, Row(subject, []), "quantile@\(percent)", "ns", "\(value)")
                }
        }
    }

    /// Neither names nor texts contain a character that JSON would escape.
    private static func line(
        _ outcome: Outcome, _ row: Row, _ metric: String, _ unit: String, _ value: String
    ) -> String {
        let names = [("scenario", outcome.scenario), ("subject", row.subject), ("metric", metric), ("unit", unit)]
        return "{" + names.map { "\"\($0)\":\"\($1)\"," }.joined() + "\"value\":\(value)}\n"
    }
}

/// The current step, on a terminal that would otherwise show nothing for half a minute.
enum Progress {
    private static let isShown = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 1

    static func show(_ text: String) { write("\r\u{1B}[K\(text)") }
    static func clear() { write("\r\u{1B}[K") }

    private static func write(_ text: String) {
        if isShown { FileHandle.standardError.write(Data(text.utf8)) }
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension String {
    fileprivate var withoutTrailingSpaces: Substring {
        self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)]
    }
}

func decimal(_ value: Double, digits: Int) -> String { String(format: "%.\(digits)f", value) }
