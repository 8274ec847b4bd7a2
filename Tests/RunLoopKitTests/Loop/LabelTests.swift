import TestSupport
import Testing

@testable import RunLoopKit

/// The labels of blocks and limiters, which a process keeps.
@Suite(.timeBound) struct LabelTests {
    @Test("A label stands in for the place, whether it is a literal or computed")
    func labels() {
        let number = Int.random(in: 1...9)
        let computed = Place("a label that is computed, number \(number)", "Module/File.swift", 7)
        #expect(computed.description == "a label that is computed, number \(number)")
        #expect(computed.isLabel)
        #expect(computed == Place("a label that is computed, number \(number)", "Module/Other.swift", 8))
        #expect(Place("short", "Module/File.swift", 7).description == "short")
        #expect(Place("", "Module/File.swift", 7).description == "")
        #expect(Place(nil, "Module/File.swift", 7).description == "Module/File.swift:7")
    }

    @Test("A label with a zero byte is whole, and as printable as others")
    func zeroByte() {
        let place = Place("a\0b\u{202E}", "Module/File.swift", 7)
        #expect(place.description == "a\0b\u{202E}".printable)
        #expect(Place(words: place.words) == place)
    }

    @Test("A process keeps so many labels; the place stands in for the rest")
    func limit() async {
        await #expect(processExitsWith: .success) {
            for number in 1...Labels.limit {
                #expect(Place("label \(number)", "Module/File.swift", 7).description == "label \(number)")
            }
            #expect(Place("one more", "Module/File.swift", 7).description == "Module/File.swift:7")
            #expect(Place("label 1", "Module/File.swift", 7).description == "label 1")
        }
    }
}
