/// What is wrong with a line, in one line.
struct MalformedLine: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
