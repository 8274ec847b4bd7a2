import Foundation

/// The source files of the library's targets: their names without the extension, and their texts.
func librarySources() throws -> [(name: String, text: String)] {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let sources = tests.appending(path: "../../Sources").standardizedFileURL
    var found: [(name: String, text: String)] = []
    for target in ["RunLoopKit", "RunLoopDiagnostics", "RunLoopRules"] {
        let folder = sources.appending(path: target)
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)!
        where file.pathExtension == "swift" && !file.path.contains(".docc") {
            found.append(
                (file.deletingPathExtension().lastPathComponent, try String(contentsOf: file, encoding: .utf8)))
        }
    }
    return found
}
