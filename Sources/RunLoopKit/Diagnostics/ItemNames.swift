extension Callout {
    /// What a person calls the handler: the item's type or, of a block, where it was posted.
    var name: String {
        switch kind {
        case .block: place == .unknown ? "block" : "block posted at \(place)"
        case .job: "job of Swift concurrency"
        case .mainQueue: "main dispatch queue"
        case .observer, .source0, .source1, .timer: item.map(Diagnostics.name(of:)) ?? "\(kind)"
        }
    }
}

enum Diagnostics {
    static func name(of item: Loop.Item) -> String { String(describing: type(of: item)) }
}
