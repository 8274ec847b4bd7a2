/// Whether an item's handler is to be called, in words that `Loop.explain(_:)` and descriptions show.
enum ItemStatus {
    /// Not before the program changes something, such as the time of a timer.
    case disarmed(String)
    /// When something happens.
    case waits(String)
    /// In the next pass.
    case ready(String)
    case inHandler

    var words: String {
        switch self {
        case .disarmed(let words), .waits(let words), .ready(let words): words
        case .inHandler: "its handler runs"
        }
    }
}

extension Loop.Item: CustomStringConvertible {
    /// The item in one line, for people to read: its label or where it was made, what it waits for, and its modes.
    public final var description: String {
        guard isValid else { return "\(name): invalid" }
        let modes = Set(allModes.map { "\($0.mode)" }).sorted()
        let place = modes.isEmpty ? "in no mode" : "in \(modes.joined(separator: ", "))"
        return "\(name): \(words), \(place)"
    }

    /// What the item waits for.
    final var words: String { currentStatus.words + (keepsRunsGoing ? "" : ", in the background") }

    /// Whether the handler is to be called. Called without any lock.
    final var currentStatus: ItemStatus {
        let status = status
        return hasHandler ? status : .disarmed("no handler is set (\(status.words))")
    }

    /// The kind of the item, and its label or the place where it was made. Unprintable characters are escaped.
    package final var name: String {
        label.map { "\(kind) \"\($0.printable)\"" } ?? (place.isLabel ? "\(kind) \"\(place)\"" : "\(kind) (\(place))")
    }
}
