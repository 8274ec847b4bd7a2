import RunLoopKit

/// Targets of messages. Not nested in a suite, and not private: persistent rules need names that last.
class RuleDocument: @unchecked Sendable {}
final class RuleDraft: RuleDocument, @unchecked Sendable {}
class RuleLetter: RuleDocument, @unchecked Sendable {}
final class RuleExpressLetter: RuleLetter, @unchecked Sendable {}
enum RuleCache {}

/// An engine of its own, a loop in virtual time, and messages that write down when they run.
struct RuleScene {
    typealias Entry = RateLimitEntry

    let scene: RateLimitScene
    let engine = ThrottleEngine()
    let saving: Message<RuleDocument, Int>
    let purging: Message<RuleDocument.Type, Int>

    var loop: Loop { scene.loop }
    var ran: [Entry] { scene.log.entries }

    init(_ advance: VirtualClock.Advance = .automatic) {
        let scene = RateLimitScene(advance)
        self.scene = scene
        saving = Message("save", engine: engine) { _, input in scene.write(input) }
        purging = Message("purge", engine: engine) { _, input in scene.write(input) }
    }

    func rule(
        for object: RuleDocument, _ milliseconds: Int64, _ mode: ThrottleRule.Mode = .debounce
    ) -> MessageRule<RuleDocument, Int> {
        saving.rule(for: object, interval: .milliseconds(milliseconds), mode: mode, on: loop)
    }

    func rule(
        for type: RuleDocument.Type, _ milliseconds: Int64, _ mode: ThrottleRule.Mode = .debounce,
        isPersistent: Bool = false
    ) -> MessageRule<RuleDocument, Int> {
        saving.rule(
            for: type, interval: .milliseconds(milliseconds), mode: mode, on: loop, isPersistent: isPersistent)
    }

    /// Makes a rule, and applies it.
    @discardableResult
    func limit(
        _ object: RuleDocument, _ milliseconds: Int64, _ mode: ThrottleRule.Mode = .debounce
    ) throws -> MessageRule<RuleDocument, Int> {
        let rule = rule(for: object, milliseconds, mode)
        try engine.apply(rule)
        return rule
    }

    @discardableResult
    func limit(
        _ type: RuleDocument.Type, _ milliseconds: Int64, _ mode: ThrottleRule.Mode = .debounce,
        isPersistent: Bool = false
    ) throws -> MessageRule<RuleDocument, Int> {
        let rule = rule(for: type, milliseconds, mode, isPersistent: isPersistent)
        try engine.apply(rule)
        return rule
    }

    /// Sends the message at each of the times, which are its inputs too, in milliseconds; and lets time run on.
    func send(_ times: Int64..., to target: RuleDocument) {
        for time in times { scene.at(time) { saving(target, Int(time)) } }
        scene.run()
    }
}

func == (left: [RuleScene.Entry], right: [(Int64, Int)]) -> Bool {
    left == right.map { RuleScene.Entry($0.0, $0.1) }
}

func areSame(_ left: [ThrottleRule], _ right: [ThrottleRule]) -> Bool { left.elementsEqual(right, by: ===) }
