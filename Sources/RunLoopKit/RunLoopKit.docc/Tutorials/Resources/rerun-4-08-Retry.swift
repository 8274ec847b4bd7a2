import RunLoopKit

/// Calls an action again after a pause, which grows each time.
final class Retry: Sendable {
    private static let shortest = Duration.milliseconds(100)
    private static let longest = Duration.seconds(10)

    private let pause: LoopBound<Duration>
    private let timer = Loop.Timer(restartableAfter: Retry.shortest)

    init(on loop: Loop) {
        pause = LoopBound(Self.shortest, on: loop)
        timer.nextFireTime = nil  // or it would count from when it is added
        loop.add(timer, in: .common)
    }

    deinit { timer.invalidate() }

    func setAction(_ action: @escaping @Sendable () -> Void) {
        timer.setHandler { _ in action() }
    }

    /// Calls the action after a pause, twice as long as the last one. Returns it.
    func schedule() -> Duration {
        let now = pause.value
        timer.restart(after: now)
        pause.value = min(now * 2, Self.longest)
        return now
    }

    /// Withdraws the call, and begins with the shortest pause again.
    func reset() {
        timer.nextFireTime = nil
        pause.value = Self.shortest
    }
}
