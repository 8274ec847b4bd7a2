import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct Source1TableTests {
    /// Message ports remember their slot in the first table that they join, the others none. Sources come to several
    /// tables and leave them, in any order, and tables are emptied, as at the end of a loop.
    @Test("The tables behave like dictionaries", arguments: 1...programCount(20))
    func dictionaries(seed: UInt64) throws {
        var random = SplitMix(seed)
        let tables = (0..<3).map { _ in Source1Table() }
        var models = tables.map { _ in [Int: UInt64]() }
        let sources = try (0..<8).map { number -> any Source1 in
            number % 2 == 0 ? Loop.MessagePort<Int> { _ in } : try Loop.PortSource { _ in }
        }
        // A token is never used again.
        var tokens = tables.map { _ in Set<UInt64>() }
        for step in 1...2_000 {
            let (table, source) = (Int(random.next() % 3), Int(random.next() % 8))
            let (turn, kind) = (UInt64(step), random.next() % 40)
            var isRight = true
            if kind == 0 {
                tables[table].removeAll()
                (models[table], tokens[table]) = ([:], [])
            } else if models[table][source] == nil {
                tables[table].insert(sources[source], turn: turn)
                models[table][source] = turn
                isRight = tables[table].token(of: sources[source]).map { tokens[table].insert($0).inserted } ?? false
            } else if kind % 2 == 0 {
                let token = tables[table].token(of: sources[source])!
                tables[table].remove(sources[source])
                models[table][source] = nil
                isRight = tables[table].source(for: token) == nil && tables[table].turn(of: token) == 0
            } else {
                tables[table].setTurn(turn, of: sources[source])
                models[table][source] = turn
            }
            // Recorded only on failure: an expectation costs much more than the step it checks.
            if !isRight { Issue.record("table \(table), source \(source), step \(step)") }
            for (table, model) in zip(tables, models) where !agree(table, model, sources) {
                Issue.record("\(model) after step \(step)")
            }
        }
    }

    /// A table, and the token of a source that has left it.
    fileprivate static func tableWithoutSource() -> (table: Source1Table, token: UInt64) {
        let (table, source) = (Source1Table(), Loop.MessagePort<Int> { _ in })
        table.insert(source, turn: 1)
        let token = table.token(of: source)!
        table.remove(source)
        return (table, token)
    }

    /// A signal source has two descriptors.
    @Test("A source that has left may be reported twice in one answer")
    func reportsInOneAnswer() {
        let (table, token) = Self.tableWithoutSource()
        #expect(table.turn(ofReported: token, in: 7) == 0)
        #expect(table.turn(ofReported: token, in: 7) == 0)
    }

    @Test("A source that has left, and is reported in two answers, ends the process")
    func reportsInTwoAnswers() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (table, token) = Source1TableTests.tableWithoutSource()
            for answer in UInt64(7)...8 { _ = table.turn(ofReported: token, in: answer) }
        }
        expect(result, says: ["epoll_wait, of a source that has left", "the program has closed a descriptor"])
    }

    @Test("A table that was large finds each source, and no token twice", arguments: 1...programCount(10))
    func largeTables(seed: UInt64) {
        var random = SplitMix(seed)
        let table = Source1Table()
        let sources = (0..<400).map { _ in Loop.MessagePort<Int> { _ in } }
        var present: [Int: UInt64] = [:]
        var used = Set<UInt64>()
        for step in 0..<8_000 {
            // It fills and empties in turn, mostly from one end or the other.
            let isEmptying = step % 2_000 > 900
            let source = isEmptying && random.once(in: 2) ? present.keys.max() ?? 0 : random.below(sources.count)
            if let token = present[source] {
                guard isEmptying else { continue }
                table.remove(sources[source])
                present[source] = nil
                if table.source(for: token) != nil { Issue.record("a stale token in step \(step)") }
            } else if !isEmptying {
                table.insert(sources[source], turn: UInt64(step + 1))
                present[source] = table.token(of: sources[source])
                if !used.insert(present[source]!).inserted { Issue.record("a token is used twice in step \(step)") }
            }
            if step % 50 == 0, !present.allSatisfy({ table.source(for: $0.value) === sources[$0.key] }) {
                Issue.record("a source is missing after step \(step)")
            }
        }
    }

    private func agree(_ table: Source1Table, _ model: [Int: UInt64], _ sources: [any Source1]) -> Bool {
        guard table.isEmpty == model.isEmpty, table.all.count == model.count else { return false }
        return sources.indices.allSatisfy { index in
            let token = table.token(of: sources[index])
            guard model[index] != nil, let token else { return token == nil && model[index] == nil }
            return table.source(for: token) === sources[index]
        }
    }
}
