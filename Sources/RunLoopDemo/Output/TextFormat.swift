// How words, counts and times are written.

extension String {
    /// Filled up with blanks on the right.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// Filled up with blanks on the left.
    func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension Int {
    /// The digits in groups of three, such as `1 234 567`.
    var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: " ")
    }

    /// The number and what is counted, such as `1 run` and `2 runs`.
    func counted(_ noun: String, _ plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}

extension Duration {
    /// Whole nanoseconds.
    var inNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }

    /// Milliseconds with two decimals, such as `12.34`.
    var inMilliseconds: String {
        let hundredths = inNanoseconds / 10_000
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
