/// All loops that the process has made and that have not been deallocated, in order of creation.
final class LoopRegistry: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in LoopRegistry() }
    static var shared: LoopRegistry { ofProcess.object }

    private struct Entry {
        let number: UInt64
        @LightWeak var loop: Loop?
    }

    private let lock = Lock(.leaf)
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var lastNumber: UInt64 = 0

    func insert(_ loop: Loop) {
        lock.withLock {
            lastNumber += 1
            entries[ObjectIdentifier(loop)] = Entry(number: lastNumber, loop: loop)
        }
    }

    func remove(_ loop: Loop) { lock.withLock { _ = entries.removeValue(forKey: ObjectIdentifier(loop)) } }

    var loops: [Loop] {
        // The references are released without the lock: the last one removes its loop.
        lock.withLock { entries.values.sorted { $0.number < $1.number }.map(\.loop) }
            .compactMap { $0 }
    }
}
