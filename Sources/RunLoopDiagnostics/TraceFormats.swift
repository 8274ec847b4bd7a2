// Numbers and texts as the exports write them. No Foundation.

import RunLoopKit

extension Duration {
    /// With a unit and three significant digits or so, such as `12.3 ms`.
    var inWords: String {
        let nanoseconds = wholeNanoseconds
        let units: [(Int64, String)] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")]
        for (size, unit) in units where nanoseconds.magnitude >= UInt64(size) {
            let digits =
                nanoseconds.magnitude >= UInt64(size) * 100 ? 0 : nanoseconds.magnitude >= UInt64(size) * 10 ? 1 : 2
            return "\(decimal(nanoseconds, unit: size, digits: digits)) \(unit)"
        }
        return "\(nanoseconds) ns"
    }

    /// Microseconds with three decimals, as Chrome's traces count.
    var inMicroseconds: String { decimal(wholeNanoseconds, unit: 1000, digits: 3) }

    /// Milliseconds with three decimals.
    var inMilliseconds: String { decimal(wholeNanoseconds, unit: 1_000_000, digits: 3) }
}

/// A number of nanoseconds in a larger unit, rounded down to so many decimals.
private func decimal(_ nanoseconds: Int64, unit: Int64, digits: Int) -> String {
    let sign = nanoseconds < 0 ? "-" : ""
    let whole = nanoseconds.magnitude / UInt64(unit)
    guard digits > 0 else { return "\(sign)\(whole)" }
    var fraction = nanoseconds.magnitude % UInt64(unit)
    var text = ""
    for _ in 0..<digits {
        fraction *= 10
        text += "\(fraction / UInt64(unit))"
        fraction %= UInt64(unit)
    }
    return "\(sign)\(whole).\(text)"
}

extension String {
    /// As a JSON string. Escapes `<` too, so that the string may stand in a script of an HTML page, and everything
    /// unprintable: people read JSON, and some readers take more than a line feed for the end of a line.
    var quotedForJSON: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case let scalar where scalar == "<" || !scalar.isPrintable: result += scalar.escapedForJSON
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

    func rightAligned(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}

extension Unicode.Scalar {
    /// As one code unit of UTF-16, or two.
    fileprivate var escapedForJSON: String {
        UTF16.encode(self)!.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
