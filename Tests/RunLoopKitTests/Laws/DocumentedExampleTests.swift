import Foundation
import RunLoopDiagnostics
import RunLoopKit
import RunLoopRules
import TestSupport
import Testing

/// The examples of the documentation on limited methods, rules and feedback loops, which must compile. Nothing calls
/// them.
private enum Examples {
    // docs/tour.md
    static func readme() throws {
        final class Document: Sendable {
            static let saving = LimitedMethod<Document, String>("save") { document, text in print("saved \(text)") }
            func save(_ text: String) { Document.saving(self, text) }
        }
        let document = Document()
        let rule = try Document.saving.limit(for: document, every: .seconds(1), mode: .last)
        for text in ["a", "b", "c"] { document.save(text) }
        Loop.main.run(mode: .default, for: .seconds(2))  // saved c
        try rule.discard()
    }

    // FeedbackLoopDetector.swift has its beginning
    static func feedback() {
        final class Panel: Sendable {
            static let layouting = LimitedMethod<Panel, Void>("layout") { panel, _ in print("laid out") }
            func layout() { Panel.layouting(self) }
        }
        let detector = FeedbackLoopDetector(on: .main, actions: [.log, .dropCalls])  // keep it
        detector.watch(Panel.layouting)  // from outside; callers and class do not change
        let panel = Panel()
        detector.call("draw", of: panel) { print("drawn") }  // around any call; wrap(_:of:_:) for a closure
        if detector.count(panel, "move") { print("moved") }  // where no wrapper is possible; false: drop the call
        FeedbackLoopDetector.isEnabled = false  // turns all off, at once, from any thread
    }

    // LimitedMethod.swift
    static func method() throws {
        final class Document: Sendable {
            static let saving = LimitedMethod<Document, String>("save") { document, text in print("saved \(text)") }
            func save(_ text: String) { Document.saving(self, text) }

            static let purging = LimitedMethod<Document.Type, Int>("purge") { type, days in print("purged") }
            static func purge(olderThan days: Int) { purging(self, days) }
        }

        let document = Document()
        let rule = try Document.saving.limit(for: document, every: .seconds(1))  // a debounce, on the main loop
        for text in ["a", "b", "c"] { document.save(text) }  // saved c, a second later
        rule.interval = .seconds(2)  // seen by the next call
        try rule.discard()
    }

    // MainActorMethods.swift
    @MainActor static func methodOfTheMainActor() throws {
        @MainActor final class Page {
            static let saving = LimitedMethod<Page, String>("save", isolation: .shared) { page, text in
                page.saved.append(text)
            }
            private(set) var saved: [String] = []
            func save(_ text: String) { Page.saving(self, text) }
        }
        try Page.saving.limit(for: Page.self, every: .seconds(1))  // on the main loop
    }

    // MethodLimiting.swift
    static func limit() throws {
        final class Account: Sendable {
            static let trading = LimitedMethod<Account, [Int]>("trade") { _, orders in print("traded \(orders)") }
            func trade(_ order: Int) { Account.trading(self, [order]) }
        }

        let account = Account()
        try Account.trading.limit(for: account, every: .seconds(1), mode: .last, merging: { $0 + $1 })
        for order in 1...3 { account.trade(order) }  // traded [1, 2, 3], a second later
    }

    final class Document: Sendable {
        static let saving = LimitedMethod<Document, String>("save") { _, _ in }
    }

    // RuleEngine.swift
    static func engine() {
        let rule = Document.saving.rule(for: Document.self, interval: .seconds(2), mode: .last)
        do throws(MethodRuleError) {
            try RuleEngine.shared.apply(rule)  // or rule.apply()
            rule.interval = .seconds(5)  // seen by the next call
            try RuleEngine.shared.discard(rule)
        } catch .conflict(_, let standing) {
            print("first discard \(standing)")
        } catch {
            print(error)
        }
    }
}

@Suite(.timeBound) struct DocumentedExampleTests {
    private static let rules = "Sources/RunLoopRules/"

    /// What is documented is what compiles here.
    @Test(
        "The documented example compiles",
        arguments: [
            ("docs/tour.md", "LimitedMethod<"), (rules + "LimitedMethod.swift", "LimitedMethod<"),
            (rules + "MethodLimiting.swift", "LimitedMethod<"),
            (rules + "MainActorMethods.swift", "LimitedMethod<"),
            (rules + "RuleEngine.swift", "apply(rule)"),
        ])
    func documentedExample(_ path: String, _ sign: String) throws {
        let here = URL(filePath: #filePath)
        let tests = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let example = try #require(examples(in: text).first { $0.contains { $0.contains(sign) } })
        let compiled = lines(of: try String(contentsOf: here, encoding: .utf8))
        #expect(compiled.indices.contains { compiled[$0...].starts(with: example) }, "\(example)")
    }

    /// The Swift code blocks, line by line, without comment signs and indentation.
    private func examples(in text: String) -> [[String]] {
        var (blocks, block) = ([[String]](), nil as [String]?)
        for line in lines(of: text) {
            let line = line.hasPrefix("///") ? line.dropFirst(3).trimmingCharacters(in: .whitespaces) : line
            if line == "```swift" {
                block = []
            } else if line == "```" {
                if let block { blocks.append(block) }
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }

    private func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
