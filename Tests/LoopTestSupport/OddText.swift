import RunLoopKit
import Testing

/// Labels and names that do harm in a text for people, unless it shows them in another way.
package enum OddText {
    /// Clears the screen, begins a line, rings, turns the text's direction.
    package static let name = "x\u{1B}[2J\nINJECTED\u{7}\u{202E}\u{2028}\r\u{0}\u{9B}y"
    package static let mode = Loop.Mode("m\(name)")

    /// Items of all kinds with that label, in that mode.
    package static func items(on loop: Loop) throws -> [Loop.Item] {
        let items: [Loop.Item] = [
            Loop.Timer(after: .milliseconds(5)) { _ in }, Loop.Source0 {}, Loop.Observer(.all) { _, _ in },
            try Loop.PortSource { _ in }, Loop.MessagePort<Int> { _ in },
        ]
        for item in items {
            item.label = name
            loop.add(item, in: mode)
        }
        return items
    }
}

package func expectPrintable(_ text: String, _ what: String, sourceLocation: SourceLocation = #_sourceLocation) {
    let odd = text.unicodeScalars.filter { $0 != "\n" && String($0) != String($0).printable }
    #expect(odd.isEmpty, "\(what): \(text.debugDescription)", sourceLocation: sourceLocation)
    let lines = text.split(separator: "\n")
    #expect(!lines.contains { $0.hasPrefix("INJ") }, "\(what): \(text)", sourceLocation: sourceLocation)
}
