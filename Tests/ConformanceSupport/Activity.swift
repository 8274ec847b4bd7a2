/// The activities for which an observer is called, with CF's raw values. All subjects convert them to their own type.
package struct Activity: OptionSet, Hashable, Sendable {
    package let rawValue: UInt

    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let entry = Activity(rawValue: 1)
    package static let beforeTimers = Activity(rawValue: 2)
    package static let beforeSources = Activity(rawValue: 4)
    package static let beforeWaiting = Activity(rawValue: 32)
    package static let afterWaiting = Activity(rawValue: 64)
    package static let exit = Activity(rawValue: 128)

    /// All activities, including those that CF may add.
    package static let all = Activity(rawValue: 0x0FFF_FFFF)

    /// The activities that exist, in the order in which a run reports them.
    package static let each: [Activity] = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]
}

extension Activity: CustomStringConvertible {
    /// The name of a single activity.
    package var description: String {
        switch self {
        case .entry: "entry"
        case .beforeTimers: "beforeTimers"
        case .beforeSources: "beforeSources"
        case .beforeWaiting: "beforeWaiting"
        case .afterWaiting: "afterWaiting"
        case .exit: "exit"
        default: "activity \(rawValue)"
        }
    }
}
