extension Loop {
    /// The name of a mode: an isolated set of sources, timers and observers. A loop runs in one mode at a time, and
    /// what is in the others waits.
    ///
    /// Any string is a mode; it exists in a loop once something is added to it there. CF: `CFRunLoopMode`.
    ///
    /// ```swift
    /// extension Loop.Mode { static let modal: Loop.Mode = "modal" }
    /// ```
    public struct Mode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name.
        public let name: String

        /// The mode called `name`.
        public init(_ name: String) { self.name = name }

        /// The mode called `value`.
        public init(stringLiteral value: String) { self.name = value }

        /// The name.
        public var description: String { name }

        /// The mode that `Loop.run()` runs in. CF: `kCFRunLoopDefaultMode`.
        public static let `default` = Mode("default")

        /// Not a mode to run in, but a name for all *common modes* together: an item added to it is added to each of
        /// them, and to those that join them later by `Loop.addCommonMode(_:)`. At first only `default` is one.
        /// CF: `kCFRunLoopCommonModes`.
        public static let common = Mode("common")

        /// The mode for the time in which a user drags or scrolls, by convention. AppKit: `NSEventTrackingRunLoopMode`.
        public static let tracking = Mode("tracking")
    }
}
