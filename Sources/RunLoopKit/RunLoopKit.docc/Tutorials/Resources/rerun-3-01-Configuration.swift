import Glibc

/// What `rerun` is to do. Each line of the file is a word, a space and a value.
struct Configuration {
    private(set) var folder = "."
    private(set) var rest = Duration.milliseconds(200)

    init(path: String) throws {
        guard let file = fopen(path, "r") else {
            throw Failure(description: "cannot read \(path)")
        }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            try read(String(cString: line).filter { $0 != "\n" })
        }
    }

    private mutating func read(_ line: String) throws {
        let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch parts.first {
        case nil: break
        case "folder" where parts.count == 2: folder = parts[1]
        case "rest" where parts.count == 2 && Int(parts[1]) != nil:
            rest = .milliseconds(Int(parts[1])!)
        default: throw Failure(description: "not understood: \(line)")
        }
    }
}
