import RunLoopKit

/// What a pass has recorded about a feedback loop: finds the cycle, and names the objects.
struct FeedbackLoopEvidence {
    private let tally: CallTally
    private let counts: PassCounts
    private let calls: [RecordedCall]
    private let cycle: RepeatingCycle?

    /// One round of the cycle, beginning with the tally: tallies of objects, or of types if it is a type's.
    let members: [CallTally]

    private let labels: SubjectLabels

    init(of tally: CallTally, in counts: PassCounts) {
        (self.tally, self.counts) = (tally, counts)
        calls = counts.recording.all
        let sequence = calls.map { tally.subject.isType ? counts.typeTally(of: $0.tally) : $0.tally }
        (cycle, members) = FeedbackLoopEvidence.cycle(in: sequence, through: tally)
        labels = SubjectLabels(of: calls.map(\.tally) + calls.compactMap(\.enclosing))
    }

    /// Looks for a cycle in everything that was called; then, if other calls come in between irregularly, in what was
    /// called about as often as `tally`.
    private static func cycle(in all: [CallTally], through tally: CallTally) -> (RepeatingCycle?, [CallTally]) {
        let id = ObjectIdentifier(tally)
        for sequence in [all, all.filter { 2 * $0.count >= tally.count }] {
            let ids = sequence.map { ObjectIdentifier($0) }
            guard let cycle = RepeatingCycle.shortest(at: ids, through: id) else { continue }
            return (cycle, Array(sequence[ids.lastRound(through: id, cycle).indices]))
        }
        return (nil, Array(all[all.map { ObjectIdentifier($0) }.lastRound(through: id, nil).indices]))
    }

    func report(depth: Int) -> FeedbackLoopDetector.Report {
        let tallies = counts.objects.all.map { FeedbackLoopDetector.Report.Tally(step: step($0), count: $0.count) }
        return FeedbackLoopDetector.Report(
            step: step(tally), count: tally.count, mode: counts.mode, depth: depth, activity: counts.activity,
            callers: callers, cycle: members.map(step), rounds: cycle?.rounds ?? 0,
            recording: calls.map { .init(step: step($0.tally), caller: caller(of: $0)) },
            tallies: tallies.sorted { (-$0.count, "\($0.step)") < (-$1.count, "\($1.step)") })
    }

    private var callers: [FeedbackLoopDetector.Report.Caller] {
        let isOfType = tally.subject.isType
        let own = calls.filter { isOfType ? counts.typeTally(of: $0.tally) === tally : $0.tally === tally }
        return own.suffix(FeedbackLoopDetector.Report.callerCount).compactMap(caller)
    }

    private func caller(of call: RecordedCall) -> FeedbackLoopDetector.Report.Caller? {
        let label =
            call.cause ?? call.enclosing.map { step($0).description } ?? call.site.map { "\($0.file):\($0.line)" }
        guard label != nil || !call.backtrace.isEmpty else { return nil }
        return .init(label: label ?? "unknown", backtrace: call.backtrace)
    }

    private func step(_ tally: CallTally) -> FeedbackLoopDetector.Report.Step {
        let subject = tally.subject
        return .init(
            objectID: subject.isType ? nil : subject.id, typeName: String(describing: subject.type),
            label: labels.label(of: subject), name: tally.name)
    }
}

/// The names of the objects in a report. Objects of one name are numbered, in the order of their first calls.
private struct SubjectLabels {
    /// Nil for a name that only one object has.
    private var numbers: [ObjectIdentifier: Int] = [:]

    init(of tallies: [CallTally]) {
        var objects: [String: [ObjectIdentifier]] = [:]
        for subject in tallies.map(\.subject) where !(objects[subject.ownLabel]?.contains(subject.identity) ?? false) {
            objects[subject.ownLabel, default: []].append(subject.identity)
        }
        for same in objects.values where same.count > 1 {
            for (index, identity) in same.enumerated() { numbers[identity] = index + 1 }
        }
    }

    func label(of subject: CountedSubject) -> String {
        subject.ownLabel + (numbers[subject.identity].map { "#\($0)" } ?? "")
    }
}

extension CountedSubject {
    fileprivate var ownLabel: String { label ?? String(describing: type) }

    /// Identifies an object that is deallocated by its subject: another object may live at its address.
    fileprivate var identity: ObjectIdentifier { isAlive ? id : ObjectIdentifier(self) }
}
