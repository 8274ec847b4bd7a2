/// The reason why a line is malformed, in one line.
struct MalformedLine: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
