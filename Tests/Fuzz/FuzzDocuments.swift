// What scripts/fuzz gives to libFuzzer: the first byte says what the rest is.

import FoundationEssentials
import RunLoopKit
import RunLoopRules

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

class FuzzedDocument: @unchecked Sendable {}
final class FuzzedDraft: FuzzedDocument, @unchecked Sendable {}

/// One reader gets all documents, if scripts/fuzz says so.
private let onlyReader = getenv("FUZZ_ONLY").flatMap { Int(String(cString: $0)) }

/// Plays one document.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    Loop.mistakeHandling = .ignore
    let document = Array(UnsafeBufferPointer(start: bytes + 1, count: count - 1))
    // A digit in the corpus that scripts/fuzz begins with.
    switch onlyReader ?? Int(bytes.pointee & 0xF) % 5 {
    case 0: playSnapshot(document)
    case 1: playScenario(document)
    case 2: playLines(document)
    case 3: playName(document)
    default: playProgram(document)
    }
    return 0
}

private func playSnapshot(_ document: [UInt8]) {
    let loop = Loop(clock: VirtualClock())
    let engine = RuleEngine()
    do {
        let snapshot = try JSONDecoder().decode(RuleEngine.Snapshot.self, from: Data(document))
        try engine.apply(snapshot, on: loop)
    } catch {
        check("\(error)", isFromCoder: !(error is MethodRuleError))
    }
    let saving = LimitedMethod<FuzzedDocument, Int>("save", engine: engine) { _, _ in }
    let purging = LimitedMethod<FuzzedDocument.Type, Int>("purge", engine: engine) { _, _ in }
    for target in [FuzzedDocument(), FuzzedDraft()] {
        saving(target, 1)
        purging(type(of: target), 2)
    }
    loop.run(mode: .default, for: .seconds(10))
    for rule in engine.waitingRules { check("\(rule)") }
    for fault in engine.waitingRuleFaults { check("\(fault)") }
    let saved = try! JSONEncoder().encode(engine.snapshot())
    _ = try! JSONDecoder().decode(RuleEngine.Snapshot.self, from: saved)
    withExtendedLifetime((saving, purging)) {}
    loop.end()
}

private func playScenario(_ document: [UInt8]) {
    do throws(MalformedLine) {
        let scenario = try Scenario(document)
        let count = Rehearsal.invocations(of: scenario).count
        if count > 2 * scenario.operations.count { fatalError("\(count) actions") }
    } catch {
        // The demo escapes it.
        check(error.message.debugDescription)
    }
}

/// A message is one line of bounded length, without control characters.
private func check(_ text: String, isFromCoder: Bool = false) {
    if isFromCoder { return }
    let isOneLine = text.unicodeScalars.allSatisfy { $0.value >= 32 && $0 != "\u{202E}" }
    if !isOneLine || text.count > 1000 { fatalError("a message: \(text.debugDescription)") }
}
