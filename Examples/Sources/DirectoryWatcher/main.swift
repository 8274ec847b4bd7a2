// A daemon that reports which files of some directories have changed, once each has come to rest.
//
//     DirectoryWatcher CONFIGURATION
//
// Configuration.swift says what can be configured. SIGHUP reads the configuration again. SIGTERM and Ctrl-C report what
// is pending, and end the program.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

@MainActor final class DirectoryWatcher {
    private let path: String
    private let inotify: Int32
    /// The watched directories by inotify's numbers for them.
    private var directories: [Int32: String] = [:]
    /// Counts the events of each file, and reports it when none has come for a while.
    private let changes = KeyedDebounce<String, Int>(interval: .zero, isolation: .shared, merging: +) {
        path, events in print("changed: \(path) (events: \(events))")
    }

    init(configuration path: String) throws {
        self.path = path
        inotify = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        // The source closes the descriptor. It reports as long as there are events to read.
        let events = try Loop.FileDescriptorSource(owning: inotify, isolation: .shared) { [unowned self] _, _ in
            readEvents()
        }
        Loop.main.add(events, in: .common)
        let hangUp = try Loop.SignalSource(SIGHUP, isolation: .shared) { [unowned self] _, _ in
            do { try reload() } catch { print(error) }  // and continue with what was valid
        }
        Loop.main.add(hangUp, in: .common)
        for signal in [SIGTERM, SIGINT] {
            let source = try Loop.SignalSource(signal, isolation: .shared) { [unowned self] _, _ in end() }
            Loop.main.add(source, in: .common)
        }
    }

    /// Reads the configuration. If it is not valid, nothing changes.
    func reload() throws {
        let configuration = try Configuration(path: path)
        changes.interval = configuration.rest
        watch(configuration.directories)
        print("watching \(directories.values.sorted().joined(separator: ", "))")
    }

    private func watch(_ wanted: Set<String>) {
        for (number, directory) in directories where !wanted.contains(directory) {
            inotify_rm_watch(inotify, number)
            directories[number] = nil
        }
        let events = UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MODIFY) | UInt32(IN_DELETE)
        for directory in wanted.subtracting(directories.values) {
            let number = inotify_add_watch(inotify, directory, events)
            if number >= 0 { directories[number] = directory } else { print("cannot watch \(directory)") }
        }
    }

    /// Reads what a buffer holds. Returns whether there was anything.
    @discardableResult private func readEvents() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = read(inotify, &buffer, buffer.count)
        guard count > 0 else { return false }
        buffer.withUnsafeBytes { bytes in
            var offset = 0
            while offset < count {
                let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let name = bytes[(offset + 16)..<(offset + 16 + Int(event.len))].prefix { $0 != 0 }
                if let directory = directories[event.wd], !name.isEmpty {
                    changes(1, for: "\(directory)/\(String(decoding: name, as: UTF8.self))")
                }
                if event.mask & UInt32(IN_IGNORED) != 0 { directories[event.wd] = nil }  // the directory was deleted
                offset += 16 + Int(event.len)
            }
        }
        return true
    }

    private func end() {
        while readEvents() {}  // what came before the signal
        changes.flushAll()
        Loop.main.stop()
    }
}

guard CommandLine.arguments.count == 2 else {
    fputs("usage: DirectoryWatcher CONFIGURATION\n", stderr)
    exit(64)
}
setvbuf(stdout, nil, Int32(_IOLBF), 0)  // whole lines, also into a pipe
let watcher = try DirectoryWatcher(configuration: CommandLine.arguments[1])
do {
    try watcher.reload()
} catch {
    print(error)
    exit(1)
}
Loop.main.run()
print("ended")
