import RunLoopKit
import RunLoopRules

/// Rules that outlive the program: one run saves a rule, the next run finds it.
struct RulesRuns {
    let log: RulesLog
    let file: RulesFile
    private let engine = RuleEngine.shared

    init(log: RulesLog, file: RulesFile) { (self.log, self.file) = (log, file) }

    /// Plays both runs: the second one is another process.
    static func playBoth(log: RulesLog, formatName: String) throws -> ExitCode {
        let file = RulesFile.temporary()
        defer { file.remove() }
        try RulesRuns(log: log, file: file).playOne()
        guard !Interruption.isRequested else { return .success }
        return ExitCode(rawValue: try runThisProgramAgain(["rules", "--file", file.path, "--format", formatName]))
            ?? .failure
    }

    /// Plays the first run if there is no file, and a later run if there is one. Writes and applies nothing before it
    /// has read the file.
    func playOne() throws {
        if let snapshot = try file.read() {
            try playAgain(snapshot)
        } else {
            try RulesStory(log: log).tell()
            if !Interruption.isRequested { try playFirst() }
        }
    }

    private func playFirst() throws {
        log.begin(.keep, "5. The first run applies a persistent rule, and saves it")
        let rule = Document.rule(for: Document.self, .seconds(2), .last, on: log.loop, isPersistent: true)
        try engine.apply(rule)
        log.say(.apply, "\(rule)")
        let diary = Document("diary", log)
        log.loop.play([(0, diary, "Monday"), (500, diary, "Tuesday")])
        try file.write(engine.snapshot())
        log.say(.save, "1 rule, to \(file.path)")
    }

    private func playAgain(_ snapshot: RuleEngine.Snapshot) throws {
        do {
            try engine.apply(snapshot, on: log.loop)
        } catch {
            throw RulesFile.NoSnapshot(message: file.refusal(error))
        }
        log.begin(.again, "6. A later run, another process, finds the rule: it is not made again")
        for rule in snapshot.rules { log.say(.load, "\(rule)") }
        if !engine.waitingRules.isEmpty {
            log.say(.list, "waiting for its method, which the program has not called yet")
        }
        let diary = Document("diary", log)
        log.loop.play([(0, diary, "Wednesday"), (500, diary, "Thursday")])
        for rule in engine.rules { log.say(.list, "in force since the method was first called: \(rule)") }
        for rule in engine.waitingRules { log.say(.list, "still waiting for its type and its method: \(rule)") }
    }
}
