import ConformanceSupport
import Foundation
import RunLoopKit

extension RandomProgram {
    func trace(
        asking questions: RandomProgramPlayer.Questions = .few, _ make: @escaping @Sendable () -> any Subject
    ) -> [String] {
        let scenario = Scenario("", { RandomProgramPlayer(self, $0, asking: questions).play() })
        return RandomProgram.inOneOrder(Stage.trace(of: scenario, moment: 0, on: make))
    }

    /// CF keeps modes, common items and a source's loops in sets, and so notifies in no particular order. This compares
    /// the number of notifications, their contents, and the callouts between them.
    static func inOneOrder(_ trace: [String]) -> [String] {
        trace.split(omittingEmptySubsequences: false) { !isNotification($0) }
            .reduce(into: [String]()) { result, notifications in
                result += notifications.sorted()
                if notifications.endIndex < trace.endIndex { result.append(trace[notifications.endIndex]) }
            }
    }

    private static func isNotification(_ line: String) -> Bool {
        line.contains(" joins ") || line.contains(" leaves ")
    }

    /// In virtual time, timers are due at the same instant and fire in another order than CF's, whose instants differ.
    var kit: [String] {
        flavour == .timers || RandomProgram.inRealTime
            ? trace { KitSubject(realTimeOn: .current) } : trace { KitSubject() }
    }
    static let inRealTime = ProcessInfo.processInfo.environment["RANDOM_REAL"] != nil
    var cf: [String] { trace { CFSubject() } }

    /// Twice, because CFRunLoop plays in real time.
    var differs: Bool { kit != cf && kit != cf }

    /// What RunLoopKit and the reference loop do, each in virtual time, and even where CFRunLoop differs.
    var differsFromReference: Bool { virtual != reference }
    private var virtual: [String] { trace(asking: .none) { KitSubject() } }
    private var reference: [String] { trace(asking: .none) { ReferenceSubject() } }
    var comparisonWithReference: String { RandomProgram.comparison("kit", virtual, "reference", reference) }

    var comparison: String { RandomProgram.comparison("kit", kit, "cf", cf) }

    /// Whether the callouts of RunLoopKit depend on what is asked between them.
    var dependsOnQuestions: Bool { silent != curious }
    private var silent: [String] { trace(asking: .none) { KitSubject() } }
    private var curious: [String] { trace(asking: .all) { KitSubject() } }
    var comparisonOfQuestions: String { RandomProgram.comparison("silent", silent, "curious", curious) }

    private static func comparison(_ first: String, _ one: [String], _ second: String, _ other: [String]) -> String {
        let same = zip(one, other).prefix { $0 == $1 }.count
        return """
            both: \(one.prefix(same).suffix(30))
            \(first): \(one.dropFirst(same).prefix(12))
            \(second): \(other.dropFirst(same).prefix(12))
            """
    }
}
