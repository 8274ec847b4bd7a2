import LoopTestSupport
import RunLoopKit
import RunLoopRules

/// Targets of calls. Neither nested in a suite nor private: persistent rules need lasting names.
class RuleDocument: @unchecked Sendable {}
final class RuleDraft: RuleDocument, @unchecked Sendable {}
class RuleLetter: RuleDocument, @unchecked Sendable {}
final class RuleExpressLetter: RuleLetter, @unchecked Sendable {}
enum RuleCache {}

/// An engine of its own, a loop in virtual time, and methods that record when they run. The engine knows the classes;
/// in `RuleTypeTests` it does not.
struct RuleScene {
    let scene: RateLimitScene
    let engine = RuleEngine()
    let saving: LimitedMethod<RuleDocument, Int>
    let purging: LimitedMethod<RuleDocument.Type, Int>

    var loop: Loop { scene.loop }
    var ran: [RateLimitEntry] { scene.log.entries }

    init(_ advance: VirtualClock.Advance = .automatic) {
        let scene = RateLimitScene(advance)
        self.scene = scene
        saving = LimitedMethod("save", engine: engine) { _, input in scene.write(input) }
        purging = LimitedMethod("purge", engine: engine) { _, input in scene.write(input) }
        engine.showTestClasses()
    }

    func rule(
        for object: RuleDocument, _ milliseconds: Int64, _ mode: AnyMethodRule.Mode = .debounce
    ) -> MethodRule<RuleDocument, Int> {
        saving.rule(for: object, interval: .milliseconds(milliseconds), mode: mode, on: loop)
    }

    func rule(
        for type: RuleDocument.Type, _ milliseconds: Int64, _ mode: AnyMethodRule.Mode = .debounce,
        isPersistent: Bool = false
    ) -> MethodRule<RuleDocument, Int> {
        saving.rule(
            for: type, interval: .milliseconds(milliseconds), mode: mode, on: loop, isPersistent: isPersistent)
    }

    /// Makes a rule and applies it.
    @discardableResult
    func limit(
        _ object: RuleDocument, _ milliseconds: Int64, _ mode: AnyMethodRule.Mode = .debounce
    ) throws -> MethodRule<RuleDocument, Int> {
        let rule = rule(for: object, milliseconds, mode)
        try engine.apply(rule)
        return rule
    }

    @discardableResult
    func limit(
        _ type: RuleDocument.Type, _ milliseconds: Int64, _ mode: AnyMethodRule.Mode = .debounce,
        isPersistent: Bool = false
    ) throws -> MethodRule<RuleDocument, Int> {
        let rule = rule(for: type, milliseconds, mode, isPersistent: isPersistent)
        try engine.apply(rule)
        return rule
    }

    /// Calls `saving` at each of the times, in milliseconds, with the time as its input. Then lets time advance.
    func send(_ times: Int64..., to target: RuleDocument) {
        for time in times { scene.at(time) { saving(target, Int(time)) } }
        scene.run()
    }
}

func == (left: [RateLimitEntry], right: [(Int64, Int)]) -> Bool {
    left == right.map { RateLimitEntry($0.0, $0.1) }
}

func areSame(_ left: [AnyMethodRule], _ right: [AnyMethodRule]) -> Bool { left.elementsEqual(right, by: ===) }
