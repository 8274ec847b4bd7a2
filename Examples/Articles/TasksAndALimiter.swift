import RunLoopKit

// Collects what any task reports, and uploads it when it has come to rest,
// but at least every ten seconds.
final class Uploads: Sendable {
    private let thread: LoopThread
    private let upload: Debounce<String>

    /// - Parameter clock: Nil for real time.
    init(clock: VirtualClock? = nil) throws {
        thread = try LoopThread(name: "uploads", clock: clock)
        upload = .collecting(
            interval: .seconds(2), maxWait: .seconds(10), on: thread.loop
        ) { events in
            // On the thread of the limiter, one call at a time.
            print("uploads \(events.count): \(events.sorted().first!) …")
        }
    }

    /// From any task or thread: neither waits nor suspends.
    func report(_ event: String) { upload(event) }

    /// The time of the limiter, for tasks that wait for it.
    var clock: LoopClock { LoopClock(thread.loop) }

    /// Uploads what is left, and ends the thread.
    func finish() async throws {
        try await thread.run { [upload] in upload.flush() }
        thread.stop()
    }
}

try Loop.runMain {
    let clock = VirtualClock()
    let uploads = try Uploads(clock: clock)

    // A hundred tasks report at the same time. No virtual time passes.
    let hold = clock.hold()
    await withTaskGroup(of: Void.self) { group in
        for number in 100...199 {
            group.addTask { uploads.report("event \(number)") }
        }
    }
    hold.release()
    try await Task.sleep(for: .seconds(3), clock: uploads.clock)

    uploads.report("the last event")
    try await uploads.finish()
}
