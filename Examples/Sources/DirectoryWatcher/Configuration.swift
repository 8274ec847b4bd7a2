#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// What the daemon's configuration says: each line is `watch DIRECTORY` or `rest MILLISECONDS`.
struct Configuration {
    struct Failure: Error, CustomStringConvertible { let description: String }

    private(set) var directories: Set<String> = []
    private(set) var rest = Duration.milliseconds(200)

    init(path: String) throws {
        guard let file = fopen(path, "r") else { throw Failure(description: "cannot read \(path)") }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            let text = String(cString: line).filter { $0 != "\n" }
            let words = text.split(separator: " ", maxSplits: 1).map(String.init)
            if words.count == 2, words[0] == "watch" {
                directories.insert(words[1])
            } else if words.count == 2, words[0] == "rest", let milliseconds = Int(words[1]) {
                rest = .milliseconds(milliseconds)
            } else if !words.isEmpty {
                throw Failure(description: "not understood: \(text)")
            }
        }
    }
}
