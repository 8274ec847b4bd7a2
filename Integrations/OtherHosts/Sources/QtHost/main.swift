// Qt hosts Loop.main, by a QSocketNotifier: see QtShim.cpp.
import QtShim
import RunLoopKit

var done: Set<String> = []
@MainActor func finish(_ what: String) {
    done.insert(what)
    if done.count == 3 { Loop.main.stop() }
}

Loop.main.add(
    Loop.Timer(after: .milliseconds(5), isolation: .shared) { _ in finish("a timer of Loop.main") }, in: .common)
Task { @MainActor in finish("a task of the main actor") }

qt_run(
    try Loop.main.hosting.begin(),
    { Loop.main.hosting.pass() == .stopped ? 0 : 1 },
    { MainActor.assumeIsolated { finish("a timer of Qt") } })
Loop.main.hosting.end()
print("Qt: \(done.sorted().joined(separator: ", "))")
