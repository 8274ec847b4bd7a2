import RunLoopKit
import RunLoopRules

/// The story of the rules, in four chapters.
struct RulesStory {
    let log: RulesLog
    private let engine = RuleEngine.shared
    private let novel: Document
    private let essay: Document
    private let draft: Draft

    private var loop: Loop { log.loop }

    init(log: RulesLog) {
        self.log = log
        (novel, essay, draft) = (Document("novel", log), Document("essay", log), Draft("draft", log))
    }

    func tell() throws {
        log.explain(
            """
            A class has declared its method 'save' as one that rules can limit. Its callers just call it; rules, \
            applied from outside, decide when it runs. The time is virtual: seconds pass at once.
            """)
        for chapter in [limitOneObject, limitAClass, meetAConflict, makeExceptions] where !Interruption.isRequested {
            try chapter()
        }
    }

    private func limitOneObject() throws {
        log.begin(.object, "1. A rule for one object: 'firstly' runs the first call of a window and ignores the rest")
        let rule = novel.rule(.seconds(1), .firstly, on: loop)
        try apply(rule)
        play([
            (0, novel, "It"), (300, novel, "It was"), (300, essay, "On"), (600, essay, "On time"),
            (1100, novel, "It was night"),
        ])
        try discard(rule)
    }

    private func limitAClass() throws {
        log.begin(
            .class, "2. A rule for a class counts all its objects together, but an object's own rule goes before it",
            explanation: """
                The draft is of a class of its own, Draft, a subclass of Document: the rule is for it too. 'debounce' \
                runs the last call once there has been none for the interval.
                """)
        let rule = Document.rule(for: Document.self, .seconds(1), .debounce, on: loop)
        try apply(rule)
        let own = novel.rule(.seconds(1), .firstly, on: loop)
        try apply(own)
        play([(0, essay, "One"), (400, draft, "Two"), (500, novel, "Three"), (800, essay, "Four")])
        for rule in engine.rules(for: novel) { log.say(.list, "for the novel: \(rule)") }
        try discard(own)
        try discard(rule)
    }

    private func meetAConflict() throws {
        log.begin(
            .conflict, "3. One rule for a class hierarchy: an error says which rule stands in the way",
            explanation: """
                Document, and Draft below it, are one hierarchy. 'last' begins a window with the first call, and runs \
                the last one at its end.
                """)
        let forDocuments = Document.rule(for: Document.self, .seconds(1), .last, on: loop)
        let forDrafts = Document.rule(for: Draft.self, .seconds(5), .last, on: loop)
        try apply(forDocuments)
        do throws(MethodRuleError) {
            try engine.apply(forDrafts)
        } catch {
            log.say(.refused, "\(error)")
        }
        play([(0, draft, "Ideas")])
        log.explain("")
        try discard(forDocuments)
        try apply(forDrafts)
        play([(0, draft, "Ideas, more of them"), (100, essay, "Not limited any more")])
        try discard(forDrafts)
    }

    private func makeExceptions() throws {
        log.begin(.predicate, "4. Settings change while the rule is applied; a predicate lets chosen calls run at once")
        let rule = Document.rule(for: Document.self, .seconds(10), .last, on: loop)
        try apply(rule)
        rule.interval = .seconds(2)
        log.say(.change, "its interval: \(rule)")
        rule.alwaysRun = { _, text in text.hasPrefix("!") }
        log.say(.change, "its predicate: what begins with an exclamation mark always runs")
        play([(0, essay, "Slowly"), (500, essay, "!Now"), (1000, essay, "Slowly on")])
        try discard(rule)
    }

    // MARK: Steps

    private func apply(_ rule: AnyMethodRule) throws {
        try engine.apply(rule)
        log.say(.apply, "\(rule)")
    }

    private func discard(_ rule: AnyMethodRule) throws {
        try engine.discard(rule)
        log.say(.discard, "\(rule)")
    }

    /// Calls `save` at the given milliseconds from now, and lets time run on until nothing is held back.
    private func play(_ calls: [(time: Int64, document: Document, text: String)]) { log.loop.play(calls) }
}

extension Loop {
    /// Calls `save` at the given milliseconds from now, and lets virtual time run on until nothing is held back.
    func play(_ calls: [(time: Int64, document: Document, text: String)]) {
        for call in calls {
            let timer = Loop.Timer(after: .milliseconds(call.time)) { _ in call.document.save(call.text) }
            timer.label = "save"
            add(timer, in: .default)
        }
        run(mode: .default, for: .seconds(1000))
    }
}
