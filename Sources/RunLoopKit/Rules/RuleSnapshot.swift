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
    /// Loops, predicates and merging are not in it: a program sets them again.
    ///
    /// Decoding checks each field by itself; whether types fit and rules go together is checked when the snapshot is
    /// applied, and again when a message is declared. It throws `ThrottleRuleError.unknownVersion` for a later
    /// version's, `invalidSnapshot` for a field that makes no sense, and the coder's own error for what the coder
    /// itself cannot read.
    public struct Snapshot: Codable, Hashable, Sendable {
        /// The version that this library writes, and the only one that it reads.
        public static let currentVersion = 1

        /// The longest interval of a rule in a snapshot: a hundred years of 365 days. What is longer is saved as this,
        /// and a negative one, which limits nothing, as zero.
        public static let longestInterval = Duration.nanoseconds(Rule.intervals.upperBound)

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

            enum CodingKeys: String, CodingKey {
                case message, type, isStatic, target, intervalNanoseconds, mode
            }
        }

        /// The version of this format.
        public let version: Int
        /// The rules, in the order in which they were applied; then those that wait.
        public let rules: [Rule]

        enum CodingKeys: String, CodingKey {
            case version, rules
        }

        init(_ rules: [Rule]) {
            version = Snapshot.currentVersion
            self.rules = rules
        }
    }
}

extension ThrottleEngine.Snapshot.Rule: CustomStringConvertible {
    /// What is limited and how.
    public var description: String {
        "\"\(message.printable)\" of \(isStatic ? "type" : "class") \(typeText(target)): \(mode), "
            + "\(Duration.nanoseconds(intervalNanoseconds))"
    }

    /// What `intervalNanoseconds` may be.
    static let intervals: ClosedRange<Int64> = 0...(100 * 365 * 24 * 3600 * 1_000_000_000)

    /// What is kept of a persistent rule.
    init(_ rule: ThrottleRule) throws(ThrottleRuleError) {
        guard let type = rule.type, let target = lastingName(of: type), let key = MessageKey(rule.book) else {
            throw .noLastingName(rule)
        }
        let interval = min(max(rule.interval.wholeNanoseconds, Self.intervals.lowerBound), Self.intervals.upperBound)
        self.init(
            message: key.message, type: key.type, isStatic: key.isStatic, target: target,
            intervalNanoseconds: interval, mode: rule.mode)
    }

    var key: MessageKey { MessageKey(message: message, type: type, isStatic: isStatic) }

    func settings(on loop: Loop) -> ThrottleRule.Settings {
        .init(.nanoseconds(intervalNanoseconds), mode, loop, isPersistent: true)
    }
}

/// Which message it is, at every start of the program.
struct MessageKey: Hashable {
    let message: String
    let type: String
    let isStatic: Bool
}

extension MessageKey {
    /// Nil when the type that declares the message has no name that lasts.
    init?(_ book: RuleBook) {
        guard let type = lastingName(of: book.declaringType) else { return nil }
        self.init(message: book.name, type: type, isStatic: book.isStatic)
    }
}
