import Foundation
import LoopTestSupport

@testable import RunLoopKit
@testable import RunLoopRules

/// A rule in a snapshot, as text.
struct RuleEntry {
    var method = "save"
    var type = name(of: RuleDocument.self)
    var isStatic = false
    var target = name(of: RuleDocument.self)

    var json: String {
        """
        {"message":"\(method)","type":"\(type)","isStatic":\(isStatic),"target":"\(target)",\
        "intervalNanoseconds":250000000,"mode":"last"}
        """
    }

    static func name(of type: Any.Type) -> String { lastingName(of: type)! }

    static func snapshot(_ rules: String...) -> String { snapshot(rules) }

    static func snapshot(_ rules: [String]) -> String {
        #"{"version":1,"rules":["# + rules.joined(separator: ",") + "]}"
    }

    @discardableResult
    static func decode(_ json: String) throws -> RuleEngine.Snapshot {
        try JSONDecoder().decode(RuleEngine.Snapshot.self, from: Data(json.utf8))
    }
}

extension RuleEngine {
    /// Shows the engine a class, as a program does that declares a method of it.
    func show<Declaring: AnyObject & Sendable>(_: Declaring.Type) {
        let method = LimitedMethod<Declaring, Void>("shown", engine: self) { _, _ in }
        withExtendedLifetime(method) {}
    }

    /// Shows the engine all classes that tests name in snapshots.
    func showTestClasses() {
        show(RuleDraft.self)
        show(RuleExpressLetter.self)
        show(Count.self)
    }
}
