import Foundation
import TestSupport
import Testing

/// No atomic access of the library is without an argument: what the models and the documents say is about the sources
/// as they are.
@Suite(.timeBound) struct AccessListTests {
    @Test("Accesses.txt lists the accesses of the sources")
    func listIsComplete() throws {
        let found = try AccessScanner.all().map(\.text)
        let listed = try AccessRow.all().map(\.access.text)
        #expect(found.count > 300)
        for change in listed.difference(from: found) {
            switch change {
            case .insert(_, let text, _): Issue.record("listed, and not in the sources: \(text)")
            case .remove(_, let text, _): Issue.record("not listed, as its order now is: \(text)")
            }
        }
    }

    @Test("docs/memory-orders.md names each variable")
    func documentIsComplete() throws {
        let file = AccessScanner.sources.appending(path: "../docs/memory-orders.md")
        let document = try String(contentsOf: file, encoding: .utf8)
        let named = Set(document.split(separator: "`").flatMap { $0.split { !$0.isLetter && !$0.isNumber } })
        let variables = Set(try AccessRow.all().map { $0.access.access.prefix { $0 != "." } })
        #expect(variables.subtracting(named).sorted() == [])
    }

    @Test("Orders are found wherever a call has them")
    func scanner() {
        let text = """
            final class Example {
                // word.load(ordering: .relaxed)
                func change(_ value: Int) -> Bool {
                    let found = other.word[2].pointee.load(ordering: .acquiring)
                    return word.compareExchange(
                        expected: found, desired: max(value, 1), successOrdering: .releasing,
                        failureOrdering: .relaxed
                    ).exchanged
                }
                var isSet: Bool { word.load(ordering: .relaxed) == 1 && flag.exchange(false, ordering: .acquiring) }
            }
            """
        #expect(
            AccessScanner("Example.swift", text).accesses().map(\.text) == [
                "Example.swift change word.load acquiring",
                "Example.swift change word.compareExchange releasing/relaxed",
                "Example.swift isSet word.load relaxed", "Example.swift isSet flag.exchange acquiring",
            ])
    }
}
