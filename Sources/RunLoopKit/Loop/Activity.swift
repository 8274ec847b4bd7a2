extension Loop {
    /// The points of a pass at which a loop calls its observers. The bits are those of `CFRunLoopActivity`.
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The option's bits.
        public let rawValue: UInt

        /// Makes the activities with these bits. Bits that no activity has are kept and never match.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A run begins. Called once for each run. CF: `kCFRunLoopEntry`.
        public static let entry = Activity(rawValue: 1)
        /// A pass begins, before it serves timers. CF: `kCFRunLoopBeforeTimers`.
        public static let beforeTimers = Activity(rawValue: 2)
        /// Before the pass performs version-0 sources. CF: `kCFRunLoopBeforeSources`.
        public static let beforeSources = Activity(rawValue: 4)
        /// Before the loop goes to sleep. What an observer posts or signals now keeps it from sleeping. A pass that
        /// does not sleep leaves this activity out: see <doc:HowARunLoopWorks#One-pass>. CF: `kCFRunLoopBeforeWaiting`.
        public static let beforeWaiting = Activity(rawValue: 32)
        /// The loop woke and has not yet served what woke it. Only after a `beforeWaiting`. CF:
        /// `kCFRunLoopAfterWaiting`.
        public static let afterWaiting = Activity(rawValue: 64)
        /// A run ends. Called once for each run. CF: `kCFRunLoopExit`.
        public static let exit = Activity(rawValue: 128)
        /// All activities. CF: `kCFRunLoopAllActivities`.
        public static let all = Activity(rawValue: 0x0FFF_FFFF)

        /// The names of the activities, joined by `|`; `none` if there are none.
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
