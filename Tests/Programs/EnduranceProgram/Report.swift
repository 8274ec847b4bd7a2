/// One JSON object a line: one for each sample, and one for the outcome.
enum JSONReport {
    static func text(_ outcome: Outcome) -> String {
        let lines = outcome.samples.enumerated().map { index, sample in
            let progress = Double(index + 1) / Double(outcome.samples.count)
            let numbers: [(String, String)] = [
                ("progress", "\(progress)"), ("seconds", "\(sample.seconds)"), ("resident", "\(sample.resident)"),
                ("allocated", "\(sample.allocated)"), ("descriptors", "\(sample.descriptors)"),
                ("threads", "\(sample.threads)"), ("p50", "\(sample.latency.p50)"), ("p99", "\(sample.latency.p99)"),
                ("max", "\(sample.latency.max)"),
            ]
            return object(outcome, numbers)
        }
        // No fault contains a character that JSON would escape.
        let faults = outcome.faults.map { "\"\($0)\"" }.joined(separator: ",")
        return (lines + [object(outcome, [("faults", "[\(faults)]")])]).joined(separator: "\n")
    }

    private static func object(_ outcome: Outcome, _ fields: [(String, String)]) -> String {
        "{\"scenario\":\"\(outcome.name.rawValue)\"" + fields.map { ",\"\($0)\":\($1)" }.joined() + "}"
    }
}

/// A line for each figure: the medians of the quarters, and their course.
enum TextReport {
    static func text(_ outcome: Outcome) -> String {
        let samples = outcome.samples
        let share = outcome.share == 1 ? "" : " \(outcome.share) of that."
        let title = "\(outcome.name.rawValue): \(outcome.name.summary)\(share) \(samples.last!.seconds) s"
        let rows = [
            row("resident, KiB", samples.map { $0.resident >> 10 }),
            row("allocated, KiB", samples.map { $0.allocated >> 10 }),
            row("descriptors", samples.map(\.descriptors)), row("threads", samples.map(\.threads)),
            row("latency p50, µs", samples.map { Int($0.latency.p50 / 1_000) }),
            row("latency p99, µs", samples.map { Int($0.latency.p99 / 1_000) }),
            row("latency max, µs", samples.map { Int($0.latency.max / 1_000) }),
        ]
        let verdict = outcome.faults.isEmpty ? ["  holds"] : outcome.faults.map { "  FAULT: \($0)" }
        return ([title] + rows + verdict).joined(separator: "\n") + "\n"
    }

    private static func row(_ name: String, _ values: [Int]) -> String {
        let quarters = (0..<4).map { quarter in
            let part = values[values.count * quarter / 4..<values.count * (quarter + 1) / 4].sorted()
            return "\(part[part.count / 2])".leftPadded(to: 9)
        }
        return "  \(name.padded(to: 16))\(quarters.joined())  \(course(values))"
    }

    /// Forty bars from zero to the greatest value, each the median of its part.
    private static func course(_ values: [Int]) -> String {
        let count = min(40, values.count)
        let parts = (0..<count).map { index in
            let part = values[values.count * index / count..<values.count * (index + 1) / count].sorted()
            return part[part.count / 2]
        }
        let bars: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        let greatest = max(1, parts.max()!)
        return String(parts.map { bars[($0 * (bars.count - 1) + greatest / 2) / greatest] })
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
