import RunLoopKit
import RunLoopRules

/// A class with a method that rules can limit: an ordinary method that calls a `LimitedMethod`.
class Document: @unchecked Sendable {
    private static let saving = LimitedMethod<Document, String>("save") { document, text in
        document.log.say(.run, "\(document.title) is saved: \(text.debugDescription)")
    }

    let title: String
    private let log: RulesLog

    init(_ title: String, _ log: RulesLog) { (self.title, self.log) = (title, log) }

    /// Saves the document, as often as the rules permit.
    func save(_ text: String) {
        log.say(.call, "\(title).save(\(text.debugDescription))")
        Document.saving(self, text)
    }

    // MARK: For the story, which is about rules

    static func rule(
        for type: Document.Type, _ interval: Duration, _ mode: AnyMethodRule.Mode, on loop: Loop,
        isPersistent: Bool = false
    ) -> MethodRule<Document, String> {
        saving.rule(for: type, interval: interval, mode: mode, on: loop, isPersistent: isPersistent)
    }

    func rule(_ interval: Duration, _ mode: AnyMethodRule.Mode, on loop: Loop) -> MethodRule<Document, String> {
        Document.saving.rule(for: self, interval: interval, mode: mode, on: loop)
    }
}

/// Counts with its class, unless it has a rule of its own.
final class Draft: Document, @unchecked Sendable {}
