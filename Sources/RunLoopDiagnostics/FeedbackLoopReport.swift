import RunLoopKit

extension FeedbackLoopDetector {
    /// What a detector has found: what reached a threshold, and the cycle of calls that led there.
    ///
    /// ```swift
    /// let detector = FeedbackLoopDetector(actions: [.call { report in print(report.chain) }])
    /// ```
    public struct Report: Sendable {
        /// How many of the last calls ``callers`` describes at most.
        public static let callerCount = 8

        /// What reached its threshold.
        public let step: Step

        /// The number of its calls within the pass, including the one that reached the threshold.
        public let count: Int

        /// The mode of the run.
        public let mode: Loop.Mode

        /// The number of runs in which the run is nested, as far as the detector has seen them.
        public let depth: Int

        /// The last activity of the run: where in the pass the calls are made. `beforeWaiting` is an observer of it, or
        /// what the observer calls. Nil if the detector has seen none.
        public let activity: Loop.Activity?

        /// The callers of the last calls, oldest first.
        public let callers: [Caller]

        /// One round of the cycle, beginning with ``step``. If nothing repeats exactly (``rounds`` is 0), the steps
        /// from the last call but one to the last call.
        public let cycle: [Step]

        /// How many times the cycle repeats at the end of the recording, in complete rounds. 0 if it does not.
        public let rounds: Int

        /// Everything that was counted in the pass, oldest first: its last 1024 calls.
        public let recording: [Call]

        /// How often each step was called in the pass, most often first, then by name; at most 1024.
        public let tallies: [Tally]

        /// The cycle as text: `sidebar.layout → content.layout → sidebar.layout …`.
        public var chain: String {
            let steps = (cycle + [step]).map(\.description)
            guard steps.count > Report.longestChain else { return steps.joined(separator: " → ") + " …" }
            let half = Report.longestChain / 2
            let ellipsis = "… \(steps.count - 2 * half) more …"
            return (steps.prefix(half) + [ellipsis] + steps.suffix(half)).joined(separator: " → ") + " …"
        }

        /// In steps. ``cycle`` has all of them.
        private static let longestChain = 16
    }
}

extension FeedbackLoopDetector.Report {
    /// A step of a chain: the calls of one name to one object; or to all objects of a type, if their type reached its
    /// threshold.
    public struct Step: Hashable, Sendable, CustomStringConvertible {
        /// The object's identity, or the type's for a static method; nil for all objects of a type. The object may be
        /// deallocated by now.
        public let objectID: ObjectIdentifier?

        /// The name of the object's class, such as `Panel`, or of a type's metatype, such as `Panel.Type`.
        public let typeName: String

        /// The object's label, or the name of its type; with a number if several objects of the report have the same.
        public let label: String

        /// What was called: the name that the call was counted under.
        public let name: String

        /// `label.name`, with unprintable characters escaped.
        public var description: String { "\(label).\(name)".printable }
    }

    /// The caller of a recorded call.
    public struct Caller: Hashable, Sendable, CustomStringConvertible {
        /// What the caller said about itself; or the watched call that it was made in; or the place in the source code
        /// where it was counted.
        public let label: String

        /// The return addresses, innermost first. Empty without a `backtraceDepth`.
        public let backtrace: [UInt]

        /// The label, with unprintable characters escaped.
        public var description: String { label.printable }
    }

    /// A recorded call.
    public struct Call: Hashable, Sendable, CustomStringConvertible {
        /// What was called.
        public let step: Step

        /// Where the call came from; nil if nothing is known of it.
        public let caller: Caller?

        /// The step.
        public var description: String { step.description }
    }

    /// How often a step was called in the pass.
    public struct Tally: Hashable, Sendable, CustomStringConvertible {
        /// What was called.
        public let step: Step

        /// How often.
        public let count: Int

        /// The step and its count.
        public var description: String { "\(step) \(count)" }
    }
}

extension FeedbackLoopDetector.Report: CustomStringConvertible {
    /// The report over several lines, for people to read.
    ///
    /// ```
    /// feedback loop: sidebar.layout (View at 0x7f3a5c001230) was called 100 times in one pass, in mode default at
    /// beforeWaiting
    ///   cycle: sidebar.layout → content.layout → sidebar.layout …, 99 rounds
    ///   last called from: content.layout
    ///   counted in this pass: sidebar.layout 100, content.layout 99, header.layout 1
    /// ```
    public var description: String {
        let place =
            "in mode \(mode)" + (activity.map { " at \($0)" } ?? "") + (depth > 0 ? ", nested \(depth) deep" : "")
        var lines = ["feedback loop: \(subject) was called \(count) times in one pass, \(place)"]
        lines.append(rounds > 0 ? "cycle: \(chain), \(rounds) rounds" : "no exact cycle; the last round: \(chain)")
        if !callers.isEmpty { lines.append("last called from: \(callerNames)") }
        if let addresses = callers.last?.backtrace, !addresses.isEmpty {
            lines.append("backtrace: " + addresses.map(hexadecimal).joined(separator: " "))
        }
        let shown = tallies.prefix(10).map(\.description).joined(separator: ", ")
        lines.append("counted in this pass: \(shown)" + (tallies.count > 10 ? ", …" : ""))
        return lines.joined(separator: "\n  ")
    }

    private var subject: String {
        guard let id = step.objectID else { return "\(step) (of several objects)" }
        return "\(step) (\(step.typeName) at \(hexadecimal(UInt(bitPattern: id))))"
    }

    /// Each caller once, in the order of their last calls.
    private var callerNames: String {
        var names: [String] = []
        for name in callers.reversed().map(\.description) where !names.contains(name) { names.append(name) }
        return names.joined(separator: ", ")
    }
}

private func hexadecimal(_ address: UInt) -> String { "0x" + String(address, radix: 16) }
