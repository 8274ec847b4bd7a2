extension Loop {
    /// The name of a mode: an isolated set of sources, timers and observers. A loop runs in one mode at a time; the
    /// contents of other modes wait.
    ///
    /// Any string is a mode. It exists in a loop once something is added to it or posted for it. CF: `CFRunLoopMode`.
    ///
    /// ```swift
    /// extension Loop.Mode { static let modal: Loop.Mode = "modal" }
    /// ```
    ///
    /// **Which mode a call takes by itself.** The question is who knows what the loop does at the moment:
    ///
    /// - ``default``, if the call is about the loop itself: adding, removing and finding items, `Loop.perform`, a run,
    ///   hosting. Its caller decides what the mode contains, as in `CFRunLoop`'s programs. Foundation:
    ///   `RunLoop.perform(_:)`.
    /// - ``common``, if a caller waits for it, or it comes from another thread: ``LoopThread``, ``LoopThreadPool``,
    ///   `performAndWait`, `await loop.run { … }`, limiters, sequences and clocks. They must not hang while the loop
    ///   runs in another common mode. Foundation: `performSelectorOnMainThread:`, `DispatchQueue.main`.
    public struct Mode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name.
        public let name: String

        /// The names that nearly all calls use. They are recognized without comparing strings.
        @usableFromInline enum Kind: Sendable { case `default`, common, other }
        @usableFromInline let kind: Kind

        // Inlinable, as is the default mode below: a caller then knows that its name is a literal, which is not
        // reference-counted. This saves 25 instructions of nearly every call.
        @inlinable init(_ name: String, _ kind: Kind) { (self.name, self.kind) = (name, kind) }

        /// Makes the mode called `name`.
        public init(_ name: String) {
            self.init(name, name == "default" ? .default : name == "common" ? .common : .other)
        }

        /// Makes the mode called `value`.
        public init(stringLiteral value: String) { self.init(value) }

        /// The name, for people: its unprintable characters are escaped.
        public var description: String { name.printable }

        /// The mode that ``Loop/run()`` runs in. CF: `kCFRunLoopDefaultMode`.
        @inlinable public static var `default`: Mode { Mode("default", .default) }

        /// Stands for every mode that was declared common, at first only `default`. An item added to it is added to
        /// each of these, even to those that ``Loop/addCommonMode(_:)`` declares later. No loop runs in it. CF:
        /// `kCFRunLoopCommonModes`.
        @inlinable public static var common: Mode { Mode("common", .common) }

        /// The mode in which a loop runs while a user drags or scrolls, by convention.
        ///
        /// It is not a common mode until the program calls `addCommonMode(.tracking)`. Until then a run in it serves no
        /// item that was added to `common`. AppKit: `NSEventTrackingRunLoopMode`, which AppKit itself declares common.
        /// UIKit: `UITrackingRunLoopMode`.
        @inlinable public static var tracking: Mode { Mode("tracking", .other) }

        /// Whether this is the default mode.
        var isDefault: Bool { kind == .default }

        /// Whether this is `common`, the name of all common modes.
        var namesCommonModes: Bool { kind == .common }
    }
}
