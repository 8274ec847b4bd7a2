/// An input cannot be opened or read. The description is one line.
struct InputError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    init(_ what: String, _ errno: Int32) { description = "\(what): \(String(cString: strerror(errno)))" }
}

/// The content of an input is invalid.
struct MalformedInput: Error {
    /// Names the input, and the place in it.
    let message: String
}
