import RunLoopKit

/// Another thread posts jobs to the main queue, each after the one before has run: so most find the main loop asleep.
/// Some run the loop nested in a mode that does not serve the queue, while the next job arrives.
///
/// The law: each job runs, once and in order. The watchdog finds one that does not run.
@MainActor final class MainQueueTalk {
    private let peer = try! LoopThread(name: "peer")
    private let count: Int
    private var played = 0

    init(count: Int) {
        self.count = count
        StallWatchdog.watch(peer.loop, "the peer of the main loop")
    }

    func play() {
        post(1)
        while played < count {
            Loop.main.run(mode: .default, for: .seconds(1000), returnAfterSourceHandled: true)
        }
        peer.stop()
        peer.join()
    }

    private func post(_ number: Int) { peer.perform { Task { @MainActor in self.job(number) } } }

    private func job(_ number: Int) {
        beat()
        played += 1
        expect(number == played, "job \(number) of the main queue is number \(played)")
        guard number < count else { return }
        post(number + 1)
        if number % 16 == 0 {
            // A run needs something to wait for.
            let end = Loop.Timer(after: .microseconds(200)) { _ in Loop.main.stop() }
            Loop.main.add(end, in: "aside")
            Loop.main.run(mode: "aside", for: .seconds(1000))
        }
    }
}
