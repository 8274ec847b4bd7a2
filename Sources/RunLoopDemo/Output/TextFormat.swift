// Formats words, counts and times.

extension String {
    /// Padded with spaces on the right.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// Padded with spaces on the left.
    func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

    /// In lines of at most `width` characters, broken at spaces; a longer word gets a line of its own.
    func wrapped(to width: Int) -> [String] {
        var lines = [""]
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let isFirst = lines[lines.count - 1].isEmpty
            if !isFirst, lines[lines.count - 1].count + 1 + word.count > width {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] += (isFirst ? "" : " ") + word
            }
        }
        return lines
    }
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

    /// The number and the noun, such as `1 run` and `2 runs`.
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

    /// The shortest exact form down to a microsecond, such as `1.5 s`, `100 ms` or `250 µs`.
    var withUnit: String {
        let microseconds = inNanoseconds / 1000
        if microseconds.magnitude >= 1_000_000 { return decimal(microseconds, digits: 6) + " s" }
        if microseconds.magnitude >= 1000 { return decimal(microseconds, digits: 3) + " ms" }
        return microseconds == 0 ? "0 s" : "\(microseconds) µs"
    }

    /// Seconds, in the shortest form that is exact to a millisecond, such as `1.5`.
    var inSeconds: String { decimal(inNanoseconds / 1_000_000, digits: 3) }
}

/// A whole number with a decimal point before its last digits, without trailing zeros.
private func decimal(_ number: Int64, digits: Int) -> String {
    let text = String(number.magnitude)
    let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    var fraction = padded.suffix(digits)
    while fraction.last == "0" { fraction.removeLast() }
    let sign = number < 0 ? "-" : ""
    return sign + padded.dropLast(digits) + (fraction.isEmpty ? "" : "." + fraction)
}
