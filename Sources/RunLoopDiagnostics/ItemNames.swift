import RunLoopKit

extension Callout {
    /// What a person calls the handler: the item's name, or a block's label or where it was posted.
    var name: String {
        switch kind {
        case .block: place == .unknown ? "block" : place.isLabel ? "block \"\(place)\"" : "block (\(place))"
        case .job: "job of Swift concurrency"
        case .mainQueue: "main dispatch queue"
        case .observer, .source0, .source1, .timer: item?.name ?? "\(kind)"
        }
    }
}
