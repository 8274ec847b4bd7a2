extension ThrottleEngine {
    /// The persistent rules at one moment, to be saved and applied again at the next start, with any coder.
    ///
    /// ```swift
    /// let data = try JSONEncoder().encode(ThrottleEngine.shared.snapshot())
    /// try data.write(to: file, options: .atomic)
    /// // At the next start:
    /// let snapshot = try JSONDecoder().decode(ThrottleEngine.Snapshot.self, from: Data(contentsOf: file))
    /// try ThrottleEngine.shared.apply(snapshot)
    /// ```
    ///
    /// Loops and predicates are not in it: a program sets them again. Decoding throws the coder's own error for what is
    /// not a snapshot at all, and `ThrottleRuleError.unknownVersion` for one of a later version.
    public struct Snapshot: Codable, Hashable, Sendable {
        /// The version that this library writes, and the only one that it reads.
        public static let currentVersion = 1

        /// What is kept of a rule.
        public struct Rule: Codable, Hashable, Sendable {
            /// The name of the message.
            public let message: String
            /// The type that declares it, as the compiler mangles its name.
            public let type: String
            /// Whether it is a static one.
            public let isStatic: Bool
            /// The type that the rule is for, as the compiler mangles its name.
            public let target: String
            /// How long a window is, in nanoseconds.
            public let intervalNanoseconds: Int64
            /// Which of the messages in a window runs, and when.
            public let mode: ThrottleRule.Mode
        }

        /// The version of this format.
        public let version: Int
        /// The rules, in the order in which they were applied; then those that wait.
        public let rules: [Rule]

        init(_ rules: [Rule]) {
            version = Snapshot.currentVersion
            self.rules = rules
        }

        /// Decodes a snapshot; looks at nothing but the version first.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            version = try container.decode(Int.self, forKey: .version)
            guard version == Snapshot.currentVersion else { throw ThrottleRuleError.unknownVersion(version) }
            rules = try container.decode([Rule].self, forKey: .rules)
        }
    }
}

extension ThrottleEngine.Snapshot.Rule: CustomStringConvertible {
    /// What is limited and how.
    public var description: String {
        let target = RunLoopKit.type(withLastingName: target).map { "\($0)" } ?? target
        return
            "\"\(message)\" of \(isStatic ? "type" : "class") \(target): \(mode), \(Duration.nanoseconds(intervalNanoseconds))"
    }

    func isFor(_ book: RuleBook) -> Bool {
        message == book.name && isStatic == book.isStatic && type == lastingName(of: book.declaringType)
    }

    /// Whether both are for the same message and target.
    func hasTarget(of other: Self) -> Bool {
        message == other.message && type == other.type && isStatic == other.isStatic && target == other.target
    }

    func settings(on loop: Loop) -> ThrottleRule.Settings {
        .init(.nanoseconds(intervalNanoseconds), mode, loop, isPersistent: true)
    }
}
