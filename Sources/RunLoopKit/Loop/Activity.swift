extension Loop {
    /// The points of a pass at which a loop calls its observers. The bits are those of `CFRunLoopActivity`.
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The option's bits.
        public let rawValue: UInt

        /// Makes the activities with these bits. Bits that no activity has are kept and never match.
        @inlinable public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A run begins. Called once for each run. CF: `kCFRunLoopEntry`.
        @inlinable public static var entry: Activity { Activity(rawValue: 1) }
        /// A pass begins, before it serves timers. CF: `kCFRunLoopBeforeTimers`.
        @inlinable public static var beforeTimers: Activity { Activity(rawValue: 2) }
        /// Before the pass performs version-0 sources. CF: `kCFRunLoopBeforeSources`.
        @inlinable public static var beforeSources: Activity { Activity(rawValue: 4) }
        /// Before the loop goes to sleep. What an observer posts or signals now keeps it from sleeping. A pass that
        /// does not sleep leaves this activity out: see <doc:HowARunLoopWorks#One-pass>. CF: `kCFRunLoopBeforeWaiting`.
        @inlinable public static var beforeWaiting: Activity { Activity(rawValue: 32) }
        /// The loop woke and has not yet served what woke it. Only after a `beforeWaiting`. CF:
        /// `kCFRunLoopAfterWaiting`.
        @inlinable public static var afterWaiting: Activity { Activity(rawValue: 64) }
        /// A run ends. Called once for each run. CF: `kCFRunLoopExit`.
        @inlinable public static var exit: Activity { Activity(rawValue: 128) }
        /// All activities. CF: `kCFRunLoopAllActivities`.
        @inlinable public static var all: Activity { Activity(rawValue: 0x0FFF_FFFF) }

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
