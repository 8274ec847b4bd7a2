import RunLoopKit
import RunLoopRules

// The class declares which of its methods can be limited.
// The callers of `save` know nothing of limits.
final class Document: Sendable {
    static let saving = LimitedMethod<Document, String>("save") {
        document, text in
        log("\(document.name) saves \(text)")
    }
    func save(_ text: String) { Document.saving(self, text) }

    let name: String
    init(_ name: String) { self.name = name }
}

let loop = Loop(clock: VirtualClock())
let start = LoopBound(loop.now, on: loop)

func log(_ text: String) {
    let time = Int((loop.now - start.value) / .milliseconds(1))
    print("  \(time) ms: \(text)")
}

/// Saves a, b and c, 40 ms apart, and waits for what is delayed.
func edit(_ document: Document, _ title: String) {
    print("\(title):")
    start.value = loop.now
    for (index, text) in ["a", "b", "c"].enumerated() {
        let call = Loop.Timer(after: .milliseconds(40 * index)) { _ in
            document.save(text)
        }
        loop.add(call)
    }
    loop.run()
}

let letter = Document("letter")
edit(letter, "no rule")

let rule = try Document.saving.limit(
    for: letter, every: .milliseconds(100), on: loop)
edit(letter, "debounce, the default")
rule.mode = .last
edit(letter, "last")
rule.mode = .firstly
edit(letter, "firstly")

rule.mode = .last
rule.merging = { $0 + $1 }
edit(letter, "last, with the inputs merged")
rule.alwaysRun = { _, text in text == "b" }
edit(letter, "the same, with an exception for b")

try rule.discard()
try Document.saving.limit(
    for: Document.self, every: .milliseconds(100), mode: .last, on: loop)
edit(Document("memo"), "a rule for the class")
print(RuleEngine.shared.rules)
