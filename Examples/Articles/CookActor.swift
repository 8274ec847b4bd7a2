import RunLoopKit

actor Sensor {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }
    private(set) var readings = 0

    init() throws { thread = try LoopThread(name: "sensor") }

    func start() {
        let timer = Loop.Timer(every: .milliseconds(5), isolation: self) {
            sensor, _ in sensor.readings += 1
        }
        thread.loop.add(timer, in: .common)
    }
}

try Loop.runMain {
    let sensor = try Sensor()
    await sensor.start()
    while await sensor.readings < 3 {
        try await Task.sleep(for: .milliseconds(5))
    }
    print("three readings")
}
