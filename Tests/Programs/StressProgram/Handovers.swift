import RunLoopKit
import Synchronization

/// A thread writes an unprotected word, sends by one of the library's paths, and the handler reads the word.
///
/// The law: the handler finds what was written. ThreadSanitizer reports a path that does not order the two.
struct Handovers {
    /// What is handed over. Nothing of the program orders its accesses.
    private final class Letter: @unchecked Sendable {
        var text: UInt64 = 0
        let isRead = Atomic<Bool>(false)

        func read(_ text: UInt64, by path: String) {
            expect(self.text == text, "\(path) does not hand over what was written before")
            // Relaxed: the end of the wait orders nothing.
            isRead.store(true, ordering: .relaxed)
        }
    }

    let text: UInt64
    private let worker = try! LoopThread(name: "reader")

    init(_ text: UInt64) {
        self.text = text
        StallWatchdog.watch(worker.loop, "the reader of letters")
    }

    func play() {
        send("a block") { _, read in { worker.perform(read) } }
        send("a block with a delay") { _, read in { worker.perform(after: .microseconds(1), read) } }
        send("a block that is waited for") { _, read in { try! worker.performAndWait(read) } }
        send("a signalled source") { _, read in
            let source = Loop.Source0 { read() }
            worker.loop.add(source)
            return { source.signal() }
        }
        send("a port") { _, read in
            let port = try! Loop.PortSource { _ in read() }
            worker.loop.add(port)
            return { port.send() }
        }
        send("a message") { letter, read in
            let port = Loop.MessagePort<Letter> { _ in read() }
            worker.loop.add(port)
            return { port.send(letter) }
        }
        send("a timer that is re-timed") { _, read in
            let timer = Loop.Timer(after: .seconds(1000)) { _ in read() }
            worker.loop.add(timer)
            return { timer.nextFireTime = .now }
        }
        send("an item that is added") { _, read in
            let timer = Loop.Timer(after: .zero) { _ in read() }
            return { worker.loop.add(timer) }
        }
        send("a limiter") { _, read in
            let limiter = Debounce<Void>(interval: .microseconds(1), on: worker.loop) { read() }
            return { limiter() }
        }
        // Back again: what the worker has written before it ends.
        let letter = Letter()
        worker.perform { letter.text = text }
        worker.stop()
        worker.join()
        letter.read(text, by: "join()")
    }

    /// - Parameter prepare: Receives the letter and the handler. Makes what sends it, and returns the send.
    private func send(
        _ path: String, _ prepare: (_ letter: Letter, _ read: @escaping @Sendable () -> Void) -> () -> Void
    ) {
        let letter = Letter()
        let text = text
        let send = prepare(letter) { letter.read(text, by: path) }
        // The loop knows the item, and sleeps.
        try! worker.performAndWait {}
        letter.text = text
        withExtendedLifetime(send) {
            send()
            wait(for: "the reader of \(path)") { letter.isRead.load(ordering: .relaxed) }
        }
    }
}
