extension Loop {
    /// The name of a mode: an isolated set of sources, timers and observers. A loop runs in one mode at a time; the
    /// contents of other modes wait.
    ///
    /// Any string is a mode. It exists in a loop once something is added to it there. CF: `CFRunLoopMode`.
    ///
    /// ```swift
    /// extension Loop.Mode { static let modal: Loop.Mode = "modal" }
    /// ```
    public struct Mode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name.
        public let name: String

        /// Whether this is the default mode. Nearly every call names that one: it is found without comparing strings.
        let isDefault: Bool

        /// Makes the mode called `name`.
        public init(_ name: String) {
            self.name = name
            isDefault = name == "default"
        }

        /// Makes the mode called `value`.
        public init(stringLiteral value: String) { self.init(value) }

        /// The name.
        public var description: String { name }

        /// The mode that ``Loop/run()`` runs in. CF: `kCFRunLoopDefaultMode`.
        public static let `default` = Mode("default")

        /// Names all *common modes* together; no loop runs in it. An item added to it is added to each common mode,
        /// also to those that ``Loop/addCommonMode(_:)`` adds later. At first that is only `default`. CF:
        /// `kCFRunLoopCommonModes`.
        public static let common = Mode("common")

        /// The mode in which a loop runs while a user drags or scrolls, by convention. It is not a common mode until
        /// the program calls `addCommonMode(.tracking)`: until then a run in it serves no item that was added to
        /// `common`. AppKit: `NSEventTrackingRunLoopMode`.
        public static let tracking = Mode("tracking")
    }
}
