import RunLoopKit

extension RuleEngine {
    /// The persistent rules at one moment, to be saved and applied again at the next start, with any coder.
    ///
    /// ```swift
    /// let data = try JSONEncoder().encode(RuleEngine.shared.snapshot())
    /// try data.write(to: file, options: .atomic)
    /// // At the next start:
    /// let snapshot = try JSONDecoder().decode(RuleEngine.Snapshot.self, from: Data(contentsOf: file))
    /// try RuleEngine.shared.apply(snapshot)
    /// ```
    ///
    /// It does not contain loops, predicates and merging: a program sets them again.
    ///
    /// A snapshot may come from an untrusted file. Decoding checks each field by itself. Applying the snapshot checks
    /// that the known types fit and that no rules conflict; so does declaring a method. Decoding throws
    /// ``MethodRuleError/unknownVersion(_:)`` for a later version, `invalidSnapshot` for an invalid field, and the
    /// coder's own error for what the coder cannot read.
    public struct Snapshot: Codable, Hashable, Sendable {
        /// The version that this library writes, and the only one that it reads.
        ///
        /// In version 1 a rule's method is saved under the key "message".
        public static let currentVersion = 1

        /// The longest interval of a rule in a snapshot: a hundred years of 365 days. A longer one is saved as this,
        /// and a negative one, which limits nothing, as zero.
        public static let longestInterval = Duration.nanoseconds(Rule.intervals.upperBound)

        /// A persistent rule.
        public struct Rule: Codable, Hashable, Sendable {
            /// The name of the method.
            public let method: String
            /// The type that declares it, as the compiler mangles its name.
            public let type: String
            /// Whether it is a static method.
            public let isStatic: Bool
            /// The type that the rule is for, as the compiler mangles its name.
            public let target: String
            /// The length of a window, in nanoseconds.
            public let intervalNanoseconds: Int64
            /// Which of the calls in a window runs, and when.
            public let mode: AnyMethodRule.Mode
            /// When the window of mode `firstly` began that went on when the snapshot was taken, in nanoseconds since
            /// 1970 on the wall clock, as that was set then. Nil: there was none; the field is not saved then.
            public let windowStartNanoseconds: Int64?

            enum CodingKeys: String, CodingKey {
                case method = "message"
                case type, isStatic, target, intervalNanoseconds, mode, windowStartNanoseconds
            }
        }

        /// The version of this format.
        public let version: Int
        /// The rules, in the order in which they were applied; then those that wait.
        public let rules: [Rule]

        enum CodingKeys: String, CodingKey { case version, rules }

        init(_ rules: [Rule]) {
            version = Snapshot.currentVersion
            self.rules = rules
        }
    }
}

extension RuleEngine.Snapshot.Rule: CustomStringConvertible {
    /// What is limited and how; the target as the snapshot names it.
    public var description: String {
        "\"\(method.excerpt)\" of \(isStatic ? "type" : "class") \(target.excerpt): \(mode), "
            + "\(Duration.nanoseconds(intervalNanoseconds))"
    }

    /// The valid values of `intervalNanoseconds`.
    static let intervals: ClosedRange<Int64> = 0...(100 * 365 * 24 * 3600 * 1_000_000_000)

    /// The valid values of `windowStartNanoseconds`.
    static let windowStarts: ClosedRange<Int64> = 0...(.max)

    /// Makes what a snapshot contains of a persistent rule.
    init(_ rule: AnyMethodRule) throws(MethodRuleError) {
        guard let type = rule.type, let target = lastingName(of: type), let key = rule.book.key else {
            throw .noLastingName(rule)
        }
        let interval = min(max(rule.interval.wholeNanoseconds, Self.intervals.lowerBound), Self.intervals.upperBound)
        self.init(
            method: key.method, type: key.type, isStatic: key.isStatic, target: target,
            intervalNanoseconds: interval, mode: rule.mode,
            windowStartNanoseconds: rule.book.lock.withLock { rule.windowStart() })
    }

    var key: MethodKey { MethodKey(method: method, type: type, isStatic: isStatic) }

    func settings(on loop: Loop) -> AnyMethodRule.Settings {
        .init(.nanoseconds(intervalNanoseconds), mode, loop, isPersistent: true)
    }
}

/// Identifies a method at every start of the program.
struct MethodKey: Hashable {
    let method: String
    let type: String
    let isStatic: Bool
}

extension MethodKey {
    /// Nil when the type that declares the method has no lasting name.
    init?(method: String, of declaringType: Any.Type, isStatic: Bool) {
        guard let type = lastingName(of: declaringType) else { return nil }
        self.init(method: method, type: type, isStatic: isStatic)
    }
}
