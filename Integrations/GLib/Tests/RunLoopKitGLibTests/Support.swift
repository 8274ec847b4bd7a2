import CRunLoopKitGLib
import Foundation
import RunLoopKit
import RunLoopKitGLib
import Synchronization

/// A context of GLib's that a test iterates.
final class TestContext: @unchecked Sendable {
    let pointer = g_main_context_new()!

    deinit { g_main_context_unref(pointer) }

    var context: GLibContext { GLibContext(pointer) }

    /// Iterates the context until nothing is ready. Returns the number of iterations in which something was.
    @discardableResult
    func serve() -> Int {
        var count = 0
        while g_main_context_iteration(pointer, 0) != 0 { count += 1 }
        return count
    }

    /// Iterates the context, which may sleep, until a handler has made the condition true.
    func serve(until condition: @autoclosure () -> Bool) {
        while !condition() { g_main_context_iteration(pointer, 1) }
    }
}

/// The record of a test's handlers, from any thread.
final class Log<Entry: Sendable>: Sendable {
    private let storage = Mutex<[Entry]>([])

    func add(_ entry: Entry) { storage.withLock { $0.append(entry) } }

    var entries: [Entry] { storage.withLock { $0 } }
}

/// Runs `body` on another thread, whose loop it may use freely, and waits until that thread has ended.
func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let failure = Log<any Error>()
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        do { try body() } catch { failure.add(error) }
        // The last of the loop's end handlers: they are called in the order of their registration.
        Loop.current.onEnd { hasEnded.signal() }
    }
    hasEnded.wait()
    if let error = failure.entries.first { throw error }
}

/// Runs `body` while this process cannot open descriptors.
func withoutDescriptors<Value>(_ body: () -> Value) -> Value {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    return body()
}
