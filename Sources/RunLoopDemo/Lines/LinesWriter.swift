import RunLoopKit

/// Writes what arrived on the loop, and when: for people, or a JSON object on each line for programs.
struct LinesWriter: Sendable {
    /// A line of input.
    struct Line: Sendable {
        let number: Int
        let text: String
    }

    let format: OutputFormat
    private let usesColour = TextStyle.isWanted
    private let start = Loop.Instant.now

    init(format: OutputFormat) { self.format = format }

    func begin() {
        guard format == .text else { return }
        let title = "Lines of standard input, SIGINT and SIGWINCH on one loop; the end of the input ends it."
        StandardOutput.write("\(title)\n\n" + styled("       ms  what", .bold) + "\n")
    }

    /// Lines that arrived together, each as a record of its own.
    func write(_ lines: [Line]) {
        write(
            lines.map { line in
                event("line", "\(shown(line.text))") { json in
                    json.add("number", Int64(line.number))
                    json.add("text", line.text)
                }
            })
    }

    /// Lines that arrived in a burst, as one record.
    func writeBurst(_ lines: [Line]) {
        var text = event("burst", lines.count.counted("line")) { json in
            json.add("number", Int64(lines[0].number))
            json.add("lines", lines.map(\.text))
        }
        if format == .text { for line in lines { text += "\(String(repeating: " ", count: 24))\(shown(line.text))\n" } }
        write([text])
    }

    func writeSignal(_ name: String, from sender: Int32, _ remark: String) {
        write([
            event("signal", "\(name)\(sender > 0 ? " from process \(sender)" : "")\(remark)") { json in
                json.add("name", name)
                json.add("sender", Int64(sender))
            }
        ])
    }

    func end(lines: Int, reason: String) {
        write([
            event("end", "\(reason) after \(lines.counted("line"))") { json in
                json.add("lines", Int64(lines))
                json.add("reason", reason)
            }
        ])
    }

    // MARK: Helpers

    private func event(_ name: String, _ text: String, _ addMembers: (inout JSONLine) -> Void) -> String {
        let time = start.duration(to: .now)
        if format == .text {
            return "\(time.inMilliseconds.rightAligned(to: 9))  \(styled(name.padded(to: 12), .cyan)) \(text)\n"
        }
        var json = JSONLine()
        json.add("t", time.inNanoseconds)
        json.add("event", name)
        addMembers(&json)
        return json.text
    }

    /// Writes many lines with one system call.
    private func write(_ texts: [String]) { StandardOutput.write(texts.joined()) }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }

    /// Escaped, except tabs, which are harmless.
    private func shown(_ text: String) -> String {
        text.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).printable }.joined(
            separator: "\t")
    }
}
