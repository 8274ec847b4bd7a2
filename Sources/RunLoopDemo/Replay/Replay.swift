import RunLoopKit

/// Reads scenarios line by line and writes their results as they come.
///
/// Used on the main loop's thread. Writes whole lines only.
final class Replay {
    private let writer: any ReplayWriter
    private var splitter = InputLines.makeSplitter()
    private var lineNumber = 0
    private var totals = ReplayTotals()
    private var output = ""

    /// Why the input is malformed; nil as long as it is not.
    private(set) var complaint: String?

    init(writer: any ReplayWriter) { self.writer = writer }

    /// Whether more is wanted.
    func read(_ bytes: [UInt8]) -> Bool {
        for line in splitter.add(bytes) where complaint == nil && !Interruption.isRequested { replay(line) }
        flush()
        return complaint == nil && !Interruption.isRequested
    }

    /// The input is at its end. A last line may lack its line end.
    func finish() {
        if complaint == nil, let line = splitter.finish() { replay(line) }
        if complaint == nil { output += writer.end(totals) }
        flush()
    }

    private func complain(_ message: String) { complaint = "line \(lineNumber): \(message)" }

    private func replay(_ line: Loop.LineSplitter.Line) {
        lineNumber += 1
        guard case .line(let line) = line else { return complain(InputLines.tooLong) }
        guard line.contains(where: { !Replay.blanks.contains($0) }) else { return }
        do throws(MalformedLine) {
            let scenario = try Scenario(Array(line))
            let invocations = Rehearsal.invocations(of: scenario)
            if totals.scenarios == 0 { output += writer.beginning }
            totals.add(scenario, invocations)
            output += writer.text(of: scenario, invocations)
        } catch {
            complain(error.message)
        }
        if output.utf8.count > Replay.limit { flush() }
    }

    /// JSON's.
    private static let blanks = Set(" \t\r".utf8)

    /// How much output is gathered while there is input.
    private static let limit = 1 << 16

    private func flush() {
        if !output.isEmpty { StandardOutput.write(output) }
        output = ""
    }
}

/// The numbers of operations and of actions.
struct ReplayTotals {
    private(set) var scenarios = 0
    private(set) var calls = 0
    private(set) var flushes = 0
    private(set) var cancels = 0
    private(set) var actions = 0

    mutating func add(_ scenario: Scenario, _ invocations: [Rehearsal.Invocation]) {
        scenarios += 1
        actions += invocations.count
        for operation in scenario.operations {
            switch operation.event {
            case .call: calls += 1
            case .flush: flushes += 1
            case .cancel: cancels += 1
            }
        }
    }
}
