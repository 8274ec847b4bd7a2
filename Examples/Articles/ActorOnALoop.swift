import RunLoopKit

// An actor that lives on a thread of its own.
actor Sensor {
    private let thread: LoopThread  // its executor: it must hold it
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }
    private var readings: [Int] = []

    init() throws { thread = try LoopThread(name: "sensor") }

    /// The timer touches the actor's state without `await`, and does not
    /// retain the actor.
    func start() {
        let timer = Loop.Timer(every: .milliseconds(5), isolation: self) {
            sensor, firing in
            sensor.readings.append(sensor.readings.count)
            if sensor.readings.count == 3 { firing.timer.invalidate() }
        }
        thread.loop.add(timer, in: .common)
    }

    /// Sleeps on the loop's clock. The timer continues meanwhile.
    func firstReadings(_ count: Int) async throws -> [Int] {
        let clock = LoopClock(thread.loop)
        while readings.count < count {
            try await Task.sleep(for: .milliseconds(5), clock: clock)
        }
        return readings
    }

    var isOnItsThread: Bool { thread.isCurrent }
}

// The initial thread runs Loop.main, and with it the main actor.
try Loop.runMain {
    let sensor = try Sensor()
    await sensor.start()
    print("readings: \(try await sensor.firstReadings(3))")
    print("on its own thread: \(await sensor.isOnItsThread)")
    print("and this on the main thread: \(Loop.main.isOnOwnThread)")
}
