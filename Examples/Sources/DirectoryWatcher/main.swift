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
    private var sources: [String: Loop.FolderSource] = [:]
    /// Counts the events of each file, and reports it when none has come for a while.
    private let changes = KeyedDebounce<String, Int>(interval: .zero, isolation: .shared, merging: +) {
        path, events in print("changed: \(path) (events: \(events))")
    }

    init(configuration path: String) throws {
        self.path = path
        let hangUp = try Loop.SignalSource(SIGHUP, isolation: .shared) { [unowned self] _, _ in
            do { try reload() } catch { print(error) }  // and continue with what was valid
        }
        let ends = try Loop.SignalSource([SIGTERM, SIGINT], isolation: .shared) { [unowned self] _, _ in end() }
        for source in [hangUp, ends] { Loop.main.add(source, in: .common) }
    }

    /// Reads the configuration. If it is not valid, nothing changes.
    func reload() throws {
        let configuration = try Configuration(path: path)
        changes.interval = configuration.rest
        watch(configuration.directories)
        print("watching \(sources.keys.sorted().joined(separator: ", "))")
    }

    private func watch(_ wanted: Set<String>) {
        for directory in Set(sources.keys).subtracting(wanted) { sources.removeValue(forKey: directory)?.invalidate() }
        for directory in wanted.subtracting(sources.keys) {
            do { try watch(directory) } catch { print(error) }
        }
    }

    private func watch(_ directory: String) throws {
        let source = try Loop.FolderSource(directory, options: .everyWrite, isolation: .shared) {
            [unowned self] _, events in
            for event in events { note(event, in: directory) }
        }
        Loop.main.add(source, in: .common)
        sources[directory] = source
    }

    private func note(_ event: Loop.FolderSource.Event, in directory: String) {
        switch event {
        case .gone: sources[directory] = nil
        case .lookAgain: print("events of \(directory) were lost")
        default: if let file = event.entry, !file.isFolder { changes(1, for: "\(directory)/\(file.path)") }
        }
    }

    private func end() {
        // What came before the signal, in parts. Not for ever: a program may go on writing.
        var parts = 64
        while parts > 0, Loop.main.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {
            parts -= 1
        }
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
