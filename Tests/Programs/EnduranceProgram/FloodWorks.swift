import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the two producers' things have come to. Accessed on the loop's thread.
final class Handled: @unchecked Sendable {
    private(set) var counts = [0, 0]
    var faults: [String] = []

    func add(_ count: Int, of producer: Int) { counts[producer] += count }

    /// A thing that has a number must come in its turn.
    func add(number: Int, of producer: Int) {
        if number != counts[producer], faults.count < 10 {
            faults.append("\(number) came after \(counts[producer]) others")
        }
        counts[producer] += 1
    }
}

final class Posts: FloodWork {
    let consumer: LoopThread
    private let handled = Handled()

    init(_ consumer: LoopThread) { self.consumer = consumer }

    func produce(_ numbers: Range<Int>, _ producer: Int) {
        let handled = handled
        for number in numbers { consumer.perform { handled.add(number: number, of: producer) } }
    }

    func handled(_ producer: Int) -> Int { handled.counts[producer] }
    func finish() -> [String] { handled.faults }
}

final class Messages: FloodWork {
    private struct Message: Sendable {
        let number, producer: Int
    }

    let consumer: LoopThread
    private let handled = Handled()
    private let port: Loop.MessagePort<Message>

    init(_ consumer: LoopThread) {
        self.consumer = consumer
        port = Loop.MessagePort { [handled] in handled.add(number: $0.number, of: $0.producer) }
        consumer.loop.add(port, in: .common)
    }

    func produce(_ numbers: Range<Int>, _ producer: Int) {
        for number in numbers { port.send(Message(number: number, producer: producer)) }
    }

    func handled(_ producer: Int) -> Int { handled.counts[producer] }

    func finish() -> [String] {
        port.invalidate()
        return handled.faults
    }
}

/// Timers that are due in an hour. One of ten becomes due at once, the others are cancelled, the last one first.
final class Timers: FloodWork {
    let consumer: LoopThread
    private let handled = Handled()

    init(_ consumer: LoopThread) { self.consumer = consumer }

    func produce(_ numbers: Range<Int>, _ producer: Int) {
        let handled = handled
        let timers = numbers.map { number in
            let timer = Loop.Timer(after: .seconds(3_600)) { _ in handled.add(1, of: producer) }
            consumer.loop.add(timer, in: .common)
            return timer
        }
        for (number, timer) in zip(numbers, timers).reversed() {
            if number % 10 == 0 { timer.nextFireTime = .now } else { timer.invalidate() }
        }
        let cancelled = numbers.count { $0 % 10 != 0 }
        consumer.perform { handled.add(cancelled, of: producer) }
    }

    func handled(_ producer: Int) -> Int { handled.counts[producer] }
    func finish() -> [String] { [] }
}

final class Ports: FloodWork {
    let consumer: LoopThread
    private let handled = Handled()
    private let ports: [Loop.PortSource]

    init(_ consumer: LoopThread) {
        self.consumer = consumer
        let handled = handled
        ports = (0...1).map { producer in
            try! Loop.PortSource { handled.add($0, of: producer) }
        }
        for port in ports { consumer.loop.add(port, in: .common) }
    }

    func produce(_ numbers: Range<Int>, _ producer: Int) { for _ in numbers { ports[producer].send() } }

    func handled(_ producer: Int) -> Int { handled.counts[producer] }

    func finish() -> [String] {
        for port in ports { port.invalidate() }
        return []
    }
}

/// A real-time signal for each producer, which counts, and an ordinary one beside each piece.
final class Signals: FloodWork {
    private static let first: Int32 = 40

    let consumer: LoopThread
    private let handled = Handled()
    private let sources: [Loop.SignalSource]

    /// A source holds 4,096 arrivals.
    var piece: Int { 500 }

    init(_ consumer: LoopThread) {
        self.consumer = consumer
        let handled = handled
        let counting = (Int32(0)...1).map { producer in
            try! Loop.SignalSource(Signals.first + producer) { _, arrivals in
                handled.add(arrivals.count, of: Int(producer))
            }
        }
        sources = counting + [try! Loop.SignalSource(SIGUSR1) { _, _ in }]
        for source in sources { consumer.loop.add(source, in: .common) }
    }

    func produce(_ numbers: Range<Int>, _ producer: Int) {
        for _ in numbers { raise(Signals.first + Int32(producer)) }
        raise(SIGUSR1)
    }

    func handled(_ producer: Int) -> Int { handled.counts[producer] }

    func finish() -> [String] {
        for source in sources { source.invalidate() }
        return []
    }
}
