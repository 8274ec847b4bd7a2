import RunLoopKit

/// The tallies of a pass, found by subject and name.
///
/// Its size is bounded: when it is full, the half with the lower counts is forgotten. What repeats most is kept, so a
/// pass that never ends and calls new objects all the time neither needs more memory nor hides a feedback loop. Such
/// calls add up in the tally of their type.
struct SubjectTable {
    static let capacity = 1024

    private struct Key: Hashable {
        let id: ObjectIdentifier
        let name: String
    }

    private var tallies: [Key: CallTally] = [:]

    var all: [CallTally] { Array(tallies.values) }

    /// The tally of a subject that exists; nil, too, if it was another object's that had the same address.
    func tally(of id: ObjectIdentifier, _ name: String) -> CallTally? {
        tallies[Key(id: id, name: name)].flatMap { $0.subject.isAlive ? $0 : nil }
    }

    mutating func insert(_ tally: CallTally) {
        if tallies.count >= SubjectTable.capacity { forgetHalf() }
        tallies[Key(id: tally.subject.id, name: tally.name)] = tally
    }

    mutating func removeAll() { if !tallies.isEmpty { tallies.removeAll(keepingCapacity: true) } }

    private mutating func forgetHalf() {
        let kept = tallies.sorted { $0.value.count > $1.value.count }.prefix(SubjectTable.capacity / 2)
        tallies.removeAll(keepingCapacity: true)
        for (key, tally) in kept { tallies[key] = tally }
    }
}
