import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A folder of a test's own, deleted with its files when it is deallocated.
package final class ScratchFolder: Sendable {
    package let path: String
    private let count = Atomic<Int>(0)

    package init() {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/loop-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        for number in 0..<count.load(ordering: .relaxed) { unlink(file(number)) }
        rmdir(path)
    }

    /// Makes a new file, without opening it: a source for the folder reports that one event. From any thread.
    package func makeFile() {
        precondition(mknod(file(count.wrappingAdd(1, ordering: .relaxed).oldValue), S_IFREG | 0o644, 0) == 0)
    }

    private func file(_ number: Int) -> String { "\(path)/\(number)" }
}
