// What the README of MessageThrottle shows (https://github.com/yulingtianxia/MessageThrottle), with the rules of this
// library. It prints the same each time, and at once: the delayed calls run in virtual time.
//
//     MethodRules [FILE]
//
// The persistent rules are kept in FILE from one run to the next.
import Foundation
import RunLoopKit
import RunLoopRules

/// Calls `foo` with a, b and c, 40 ms apart, and waits until all that is delayed has run.
func burst(_ stub: Stub) {
    start.value = loop.now
    for (delay, text) in [(0, "a"), (40, "b"), (80, "c")] {
        loop.add(Loop.Timer(after: .milliseconds(delay)) { _ in stub.foo(text) })
    }
    loop.run()
}

func section(_ title: String) { print("\(title):") }

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
    FileHandle.standardError.write(Data("usage: MethodRules [FILE]\n".utf8))
    exit(64)
}
let file = arguments.first.map { URL(fileURLWithPath: $0) }
let engine = RuleEngine.shared

// The rules of the run before: all of them or, if one is invalid, none.
if let file, let data = try? Data(contentsOf: file) {
    let snapshot = try JSONDecoder().decode(RuleEngine.Snapshot.self, from: data)
    try engine.apply(snapshot, on: loop)
    _ = Stub.barring  // a rule waits until its method is declared, at its first use
    print("restored: \(engine.rules)")
    for rule in engine.rules { try rule.discard() }
}

let stub = Stub("stub")
section("no rule")
burst(stub)

// [stub limitSelector:@selector(foo:) oncePerDuration:0.1];
section("a rule in one step; the mode is debounce")
let rule = try Stub.fooing.limit(for: stub, every: .milliseconds(100), on: loop)
burst(stub)

// rule.mode = MTModePerformLast;
section("mode last: the last call runs at the end of the window")
rule.mode = .last
burst(stub)

section("mode firstly: the first call runs, and the others are ignored")
rule.mode = .firstly
burst(stub)

// [rule discard]; [rule apply];
section("discarded")
try rule.discard()
burst(stub)

// [[MTRule alloc] initWithTarget:Stub.class selector:@selector(foo:) durationThreshold:0.1];
section("a rule in two steps, for a class and its subclasses, which merges the inputs")
let classRule = Stub.fooing.rule(
    for: Stub.self, interval: .milliseconds(100), mode: .last, on: loop, merging: { $0 + $1 })
try classRule.apply()
burst(stub)
burst(SpecialStub("special"))

section("one rule in a class hierarchy")
do { try Stub.fooing.limit(for: SpecialStub.self, every: .seconds(1), on: loop) } catch { print("  \(error)") }

// alwaysInvokeBlock
section("a call that always runs at once")
classRule.alwaysRun = { _, text in text == "b" }
burst(stub)

section("an object's rule takes precedence over its class's, and ends with the object")
do {
    let short = Stub("short")
    try Stub.fooing.limit(for: short, every: .milliseconds(10), mode: .firstly, on: loop)
    burst(short)
    print("  rules: \(engine.rules.count)")
}
print("  rules: \(engine.rules.count)")

// mt_metaClass(Stub.class), rule.persistent = YES; [MTEngine.defaultEngine savePersistentRules];
section("a static method, and a rule that is kept")
let barRule = Stub.barring.rule(for: Stub.self, interval: .seconds(60), mode: .firstly, on: loop, isPersistent: true)
try barRule.apply()
for number in 1...3 { Stub.bar(number) }
if let file {
    try JSONEncoder().encode(engine.snapshot()).write(to: file, options: .atomic)
    print("  saved: \(engine.rules.filter { $0.isPersistent })")
}
