// Times on the command line, such as `100ms`.

extension Arguments {
    /// The value of an option that is a time within bounds, such as `250us`, `100ms` or `1.5s`; nil if the option is
    /// missing.
    func duration(_ name: String, in bounds: ClosedRange<Duration>) throws(UsageError) -> Duration? {
        try duration(
            name, in: bounds, unit: nil,
            "a time from \(bounds.lowerBound.withUnit) to \(bounds.upperBound.withUnit), such as 250us, 100ms or 1.5s")
    }

    /// The value of an option that is a number of seconds within bounds, such as `3` or `1.5`; nil if the option is
    /// missing.
    func seconds(_ name: String, in bounds: ClosedRange<Duration>) throws(UsageError) -> Duration? {
        try duration(
            name, in: bounds, unit: "s",
            "a number of seconds from \(bounds.lowerBound.inSeconds) to \(bounds.upperBound.inSeconds), such as 1.5")
    }

    private func duration(
        _ name: String, in bounds: ClosedRange<Duration>, unit: String?, _ wanted: String
    ) throws(UsageError) -> Duration? {
        guard let value = value(of: name) else { return nil }
        guard let duration = Duration(typed: value, unit: unit), bounds.contains(duration) else {
            throw UsageError("--\(name) cannot be \(value.debugDescription), only \(wanted)")
        }
        return duration
    }
}

extension Duration {
    /// Parses a decimal number and a unit, which may be missing if there is a default unit. Returns nil for any other
    /// text, and for numbers out of range.
    fileprivate init?(typed text: String, unit defaultUnit: String?) {
        guard let match = text.wholeMatch(of: /([0-9]{1,10})(?:\.([0-9]{1,9}))?([a-zµ]*)/) else { return nil }
        let unit = match.3.isEmpty ? defaultUnit ?? "" : String(match.3)
        guard let size = Duration.units[unit], let whole = Int64(match.1) else { return nil }
        let fraction = match.2.map(String.init) ?? ""
        let billionths = Int64(fraction + String(repeating: "0", count: 9 - fraction.count)) ?? 0
        // A billionth of a unit is whole attoseconds.
        self = size * whole + Duration(attoseconds: size.attoseconds / 1_000_000_000 * Int128(billionths))
    }

    private static let units: [String: Duration] = [
        "us": .microseconds(1), "µs": .microseconds(1), "ms": .milliseconds(1), "s": .seconds(1),
    ]
}
