import RunLoopDiagnostics
import RunLoopKit

/// The file into which `trace --output` writes, and its form.
struct TraceFile {
    private enum Form: String, CaseIterable { case json, html, txt }

    private let path: String
    private let form: Form

    /// - Throws: A `UsageError` if the name's extension is that of no form.
    init(_ path: String) throws(UsageError) {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: "."), let form = Form(rawValue: String(name[name.index(after: dot)...]))
        else {
            let forms = Form.allCases.map { ".\($0.rawValue)" }.joined(separator: ", ")
            throw UsageError("--output cannot be \(path.debugDescription), only a file with one of: \(forms)")
        }
        self.path = path
        self.form = form
    }

    /// Writes the trace. Returns false, and says why, if the file cannot be written.
    func write(_ trace: LoopTrace) -> Bool {
        let text =
            switch form {
            case .json: trace.chromeTrace
            case .html: trace.html
            case .txt: trace.text
            }
        do throws(FileNotWritten) {
            try writeFile(text, to: path)
            return true
        } catch {
            StandardError.complain("\(error)")
            return false
        }
    }

    /// Where the trace is, and which program shows it.
    var advice: String {
        let reader =
            switch form {
            case .json: " Open it in ui.perfetto.dev or chrome://tracing."
            case .html: " Open it in a browser."
            case .txt: ""
            }
        return "Wrote the trace to \(path.debugDescription.printable).\(reader)"
    }
}
