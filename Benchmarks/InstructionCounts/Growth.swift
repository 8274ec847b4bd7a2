import RunLoopKit

extension Operation {
    /// Operations in loops that contain many items.
    static let growth = [
        growingPasses, growingInputs, growingReadyPorts, growingItems, growingTimers, growingLimiters,
    ].flatMap { $0.flatMap { $0 } }

    private static let growingPasses = [
        growing("blocks-for-another-mode") { loop, size in
            loop.add(try Loop.PortSource { _ in })
            for _ in 0..<size { loop.perform(in: "another") {} }
            return { count in for _ in 0..<count { loop.run(for: .zero) } }
        },
        // Only one of the observers observes what happens in a pass.
        growing("observers-of-another-activity") { loop, size in
            loop.add(try Loop.PortSource { _ in })
            for _ in 0..<size { loop.add(Loop.Observer(.afterWaiting) { _, _ in }) }
            loop.add(Loop.Observer(.beforeSources) { _, _ in })
            return { count in for _ in 0..<count { loop.run(for: .zero) } }
        },
    ]

    /// One of many is ready.
    private static let growingInputs = [
        growing("message-ports") { loop, size in
            let ports = (0..<size).map { _ in Loop.MessagePort<Int> { _ in } }
            for port in ports { loop.add(port) }
            return { count in
                for number in 0..<count {
                    ports[number % size].send(number)
                    loop.run(for: .zero)
                }
            }
        },
        growing("ports") { loop, size in
            let ports = try (0..<size).map { _ in try Loop.PortSource { _ in } }
            for port in ports { loop.add(port) }
            return { count in
                for number in 0..<count {
                    ports[number % size].send()
                    loop.run(for: .zero)
                }
            }
        },
        growing("source0s") { loop, size in
            let sources = (0..<size).map { _ in Loop.Source0 {} }
            for source in sources { loop.add(source) }
            return { count in
                for number in 0..<count {
                    sources[number % size].signal()
                    loop.run(for: .zero)
                }
            }
        },
    ]

    /// All are ready, and a run serves one.
    private static let growingReadyPorts = [
        growing("ready-message-ports", count: 2_000) { loop, size in
            let ports = (0..<size).map { _ in Loop.MessagePort<Int> { _ in } }
            for port in ports { loop.add(port) }
            return { count in
                for _ in 0..<count / size {
                    for port in ports { port.send(1) }
                    for _ in ports { loop.run(for: .zero) }
                }
            }
        }
    ]

    /// One is added to many, and leaves.
    private static let growingItems = [
        growing("source0-add-invalidate") { loop, size in
            for _ in 0..<size { loop.add(Loop.Source0 {}) }
            return { count in
                for _ in 0..<count {
                    let source = Loop.Source0 {}
                    loop.add(source)
                    source.invalidate()
                }
            }
        },
        growing("observer-add-invalidate") { loop, size in
            for _ in 0..<size { loop.add(Loop.Observer { _, _ in }) }
            return { count in
                for _ in 0..<count {
                    let observer = Loop.Observer { _, _ in }
                    loop.add(observer)
                    observer.invalidate()
                }
            }
        },
        growing("post-withdraw") { loop, size in
            for _ in 0..<size { loop.perform {} }
            return { count in for _ in 0..<count { loop.performCancellable {}!.withdraw() } }
        },
        growing("common-modes", sizes: [4, 100]) { loop, size in
            for number in 0..<size { loop.addCommonMode(Loop.Mode("common \(number)")) }
            return { count in
                for _ in 0..<count {
                    let source = Loop.Source0 {}
                    loop.add(source, in: .common)
                    source.invalidate()
                }
            }
        },
    ]

    private static let growingTimers = [
        growing("timers") { loop, size in
            let timers = Timers(size)
            for _ in 0..<size { timers.add(to: loop, in: .default) }
            return { count in for _ in 0..<count { timers.add(to: loop, in: .default).invalidate() } }
        },
        growing("timers-common") { loop, size in
            let timers = Timers(size)
            for _ in 0..<size { timers.add(to: loop, in: .common) }
            return { count in for _ in 0..<count { timers.add(to: loop, in: .common).invalidate() } }
        },
        // The earliest one comes and leaves, and a run follows each.
        growing("timers-tolerant") { loop, size in
            let timers = Timers(size)
            for _ in 0..<size { timers.add(to: loop, in: .default, tolerance: .seconds(60)) }
            return { count in
                for _ in 0..<count {
                    let timer = Loop.Timer(after: .seconds(1_800), tolerance: .seconds(60)) { _ in }
                    loop.add(timer)
                    loop.run(for: .zero)
                    timer.invalidate()
                    loop.run(for: .zero)
                }
            }
        },
    ]

    private static let growingLimiters = [
        growing("debounce-cancel") { loop, size in
            let others = (0..<size).map { _ in Debounce<Int>(interval: .anHour, on: loop) { _ in } }
            for other in others { other(0) }
            let limiter = Debounce<Int>(interval: .anHour, on: loop) { _ in }
            return { count in
                withExtendedLifetime(others) {
                    for number in 0..<count {
                        limiter(number)
                        limiter.cancel()
                    }
                }
            }
        },
        growing("keyed-debounce-known-keys", count: 2_000) { loop, size in
            let limiter = KeyedDebounce<Int, Int>(interval: .anHour, on: loop) { _, _ in }
            for key in 0..<size { limiter(0, for: key) }
            return { count in for number in 0..<count { limiter(number, for: number % size) } }
        },
    ]
}

/// Makes timers that are due at different times, in a fixed order that looks random.
private final class Timers {
    private let size: Int
    private var made = 0

    init(_ size: Int) { self.size = size }

    @discardableResult
    func add(to loop: Loop, in mode: Loop.Mode, tolerance: Duration = .zero) -> Loop.Timer {
        made += 1
        let timer = Loop.Timer(after: .anHour + .seconds(made * 7_919 % size), tolerance: tolerance) { _ in }
        loop.add(timer, in: mode)
        return timer
    }
}
