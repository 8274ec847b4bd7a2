import RunLoopKit
import RunLoopRules

/// The loop of the delayed calls. In virtual time, so that no call has to be waited for.
let loop = Loop(clock: VirtualClock())
/// When the present burst of calls has begun.
let start = LoopBound(loop.now, on: loop)

/// A class whose methods rules limit. Its callers call `foo` and `bar`, and know nothing of rules.
class Stub: @unchecked Sendable {
    static let fooing = LimitedMethod<Stub, String>("foo") { stub, text in log("\(stub.name).foo(\(text)) runs") }
    func foo(_ text: String) { Stub.fooing(self, text) }

    static let barring = LimitedMethod<Stub.Type, Int>("bar") { _, number in log("Stub.bar(\(number)) runs") }
    static func bar(_ number: Int) { barring(self, number) }

    let name: String
    init(_ name: String) { self.name = name }
}

final class SpecialStub: Stub, @unchecked Sendable {}

func log(_ text: String) { print("  \(Int((loop.now - start.value) / .milliseconds(1))) ms: \(text)") }
