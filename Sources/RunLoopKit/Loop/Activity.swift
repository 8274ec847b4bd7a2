extension Loop {
    /// What a loop is doing: the points of a pass at which observers are called. The bits are CF's
    /// (`CFRunLoopActivity`).
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The bits.
        public let rawValue: UInt

        /// The activities with these bits. Bits that no activity has are kept and never match.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A run begins. Once for each run. CF: `kCFRunLoopEntry`.
        public static let entry = Activity(rawValue: 1)
        /// A pass begins, before timers are looked at. CF: `kCFRunLoopBeforeTimers`.
        public static let beforeTimers = Activity(rawValue: 2)
        /// Before version-0 sources are performed. CF: `kCFRunLoopBeforeSources`.
        public static let beforeSources = Activity(rawValue: 4)
        /// Before the loop goes to sleep. CF: `kCFRunLoopBeforeWaiting`.
        public static let beforeWaiting = Activity(rawValue: 32)
        /// The loop woke, and has not yet served what woke it. CF: `kCFRunLoopAfterWaiting`.
        public static let afterWaiting = Activity(rawValue: 64)
        /// A run ends. Once for each run. CF: `kCFRunLoopExit`.
        public static let exit = Activity(rawValue: 128)
        /// All of them. CF: `kCFRunLoopAllActivities`.
        public static let all = Activity(rawValue: 0x0FFF_FFFF)

        /// The names, joined by `|`.
        public var description: String {
            if self == .all { return "all" }
            let names: [(Activity, String)] = [
                (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
                (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
            ]
            let held = names.filter { contains($0.0) }.map(\.1)
            return held.isEmpty ? "none" : held.joined(separator: "|")
        }
    }
}
