import Dispatch
import RunLoopKit

/// The life of a loop, in three runs: in the default mode, in `tracking`, and in the default mode again.
///
/// It is an ordinary use of the library, except for `recorder`, which records the events.
struct TraceStory {
    static let modes: [Loop.Mode] = [.default, .tracking]

    private let loop = Loop.current
    private let recorder: Recorder
    private let signaller: LoopThread
    private let sender: LoopThread
    private let port: Loop.PortSource
    private let source: Loop.Source0
    /// When the loop last ran in tracking; nil before that.
    private let trackingEnd: LoopBound<Loop.Instant?>

    /// - Throws: `LoopError` if threads or descriptors cannot be made.
    init(recorder: Recorder) throws {
        self.recorder = recorder
        trackingEnd = LoopBound(nil, on: loop)
        // A mode's first run prepares it too, but this throws if descriptors run out. Before items are made: one that
        // is never added is reported.
        for mode in TraceStory.modes { try loop.prepare(mode) }
        // Two threads with loops of their own, which act on the story's loop on request.
        signaller = try LoopThread(name: "signaller")
        sender = try LoopThread(name: "sender")
        port = try Loop.PortSource { count in
            // Sends that the loop has not handled yet are counted, not queued: three may be one call or more.
            recorder.callout(.port, "\(count.counted("send")) from thread 'sender'")
        }
        port.label = "from sender"
        source = Loop.Source0 { [loop] in
            recorder.callout(.source0, "signalled by thread 'signaller'; posts a block that waits for tracking mode") {
                loop.perform(in: .tracking, label: "waits for tracking") {
                    recorder.callout(.block, "was posted in default mode, and waited until the loop ran in tracking")
                }
            }
        }
        source.label = "from signaller"
    }

    /// The threads that act on the story's loop.
    var threads: [LoopThread] { [signaller, sender] }

    /// Plays the story. Leaves nothing in the loop.
    func tell() {
        let items = setUp()
        for part in [workInDefaultMode, track, returnToDefaultMode] where !Interruption.isRequested { part() }
        for thread in threads {
            thread.stop()
            thread.join()
        }
        for item in items { item.invalidate() }
    }

    /// Adds the items to the loop, and returns them.
    private func setUp() -> [Loop.Item] {
        // From now on, items added to the common modes are in both.
        loop.addCommonMode(.tracking)
        let common = makeCommonTimer()
        loop.add(common, in: .common)
        let others = [makeHeartbeat(), makeObserver(), source, port]
        for item in others { loop.add(item, in: .default) }
        return others + [common]
    }

    // MARK: The three runs

    /// The loop sleeps until an event wakes it: a timer, a source that another thread signals, a port that another
    /// thread sends to.
    private func workInDefaultMode() {
        post("ask for a signal", "asks thread 'signaller' to signal the source in 30 ms") { [signaller, source] in
            signaller.perform(after: .milliseconds(30)) { source.signal() }?.label = "signal the source"
        }
        post("ask for sends", "asks thread 'sender' to send three times in 60 ms") { [sender, port] in
            let timer = sender.perform(after: .milliseconds(60)) {
                for _ in 1...3 { port.send() }
            }
            timer?.label = "send three times"
        }
        post("ask for the main queue", "asks thread 'signaller' to use the main dispatch queue in 125 ms") {
            [signaller, recorder] in
            let timer = signaller.perform(after: .milliseconds(125)) {
                DispatchQueue.main.async {
                    recorder.callout(.mainQueue, "DispatchQueue.main.async of thread 'signaller'")
                }
            }
            timer?.label = "use the main queue"
        }
        recorder.run(mode: .default, for: .milliseconds(250))
    }

    /// A user drags something: the program runs the loop in `tracking` meanwhile. Items in the default mode alone wait.
    /// The main queue, which is also the main actor's, does not: it is served in all common modes.
    private func track() {
        let timer = signaller.perform(after: .milliseconds(105)) { [recorder] in
            Task { @MainActor in recorder.callout(.mainQueue, "a @MainActor task of thread 'signaller'") }
        }
        timer?.label = "start a task"
        recorder.run(mode: .tracking, for: .milliseconds(200))
        trackingEnd.value = loop.now
    }

    /// Back in the default mode. A handler runs the loop itself, as a modal dialogue would; then another thread stops
    /// the loop.
    private func returnToDefaultMode() {
        post("nested run", "runs the loop in this block until a source is handled (timers do not count)") {
            [recorder, sender, port] in
            sender.perform(after: .milliseconds(70)) { port.send() }?.label = "send once"
            recorder.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true)
        }
        post("ask for a stop", "asks thread 'signaller' to stop the loop in 60 ms") { [loop, signaller] in
            signaller.perform(after: .milliseconds(60)) { loop.stop() }?.label = "stop the loop"
        }
        recorder.run(mode: .default, for: .seconds(1))
    }

    // MARK: What is in the loop

    private func makeHeartbeat() -> Loop.Timer {
        let timer = Loop.Timer(every: .milliseconds(100)) { [loop, recorder, trackingEnd] firing in
            var remarks: [String] = []
            let delay = firing.scheduledTime.duration(to: loop.now)
            if delay > .milliseconds(10) { remarks.append("\(delay.inMilliseconds) ms late") }
            if firing.missed > 0 { remarks.append("\(firing.missed) missed") }
            var label = (["heartbeat, every 100 ms in default mode"] + remarks).joined(separator: "; ")
            // The first instant that this call covers.
            let due = firing.scheduledTime - firing.timer.interval * firing.missed
            if !remarks.isEmpty, let end = trackingEnd.value, due < end {
                label += ", since the loop was in tracking mode"
            }
            recorder.callout(.timer, label)
        }
        timer.label = "heartbeat"
        return timer
    }

    private func makeCommonTimer() -> Loop.Timer {
        let timer = Loop.Timer(every: .milliseconds(80)) { [recorder] _ in
            recorder.callout(.timer, "every 80 ms in all common modes")
        }
        timer.label = "every 80 ms"
        return timer
    }

    private func makeObserver() -> Loop.Observer {
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { [recorder] _, _ in
            recorder.callout(.observer, "called once, before the first sleep")
        }
        observer.label = "first sleep"
        return observer
    }

    private func post(_ label: String, _ explanation: String, _ body: @escaping @Sendable () -> Void) {
        loop.perform(label: label) { [recorder] in recorder.callout(.block, explanation, body) }
    }
}
