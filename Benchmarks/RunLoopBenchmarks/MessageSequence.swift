import RunLoopKit

/// A task sends many messages, and another task iterates them.
struct MessageSequence: Scenario {
    let name = "message-sequence"
    let summary = "A task iterates the messages that another task sends, many at once."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            Stream(StreamChannel()), Stream(try KitChannel()),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) messages",
            rows: subjects.measured(name, effort), bare: StreamChannel.name)
    }
}

/// Two tasks send each other one message at a time.
struct MessageTurns: Scenario {
    let name = "message-turns"
    let summary = "Two tasks send each other one message at a time, and iterate them."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            Turns(StreamChannel(), StreamChannel()), Turns(try KitChannel(), try KitChannel()),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) turns",
            rows: subjects.measured(name, effort), bare: StreamChannel.name,
            notes: ["A turn is two messages, one in each direction."])
    }
}

// MARK: Channels

/// A queue of numbers that one task sends and another one iterates.
private protocol Channel: Sendable {
    associatedtype Numbers: AsyncSequence & Sendable where Numbers.Element == Int
    static var name: String { get }
    var numbers: Numbers { get }
    func send(_ number: Int)
}

private struct StreamChannel: Channel {
    static let name = "AsyncStream"
    let numbers: AsyncStream<Int>
    private let input: AsyncStream<Int>.Continuation

    init() { (numbers, input) = AsyncStream.makeStream() }

    func send(_ number: Int) { input.yield(number) }
}

private struct KitChannel: Channel {
    static let name = Outcome.kit
    let numbers: Loop.MessagePort<Int>.Messages
    private let port: Loop.MessagePort<Int>
    private let thread: LoopThread

    init() throws {
        thread = try LoopThread(name: "messages")
        (port, numbers) = Loop.MessagePort<Int>.makeMessages(on: thread.loop)
    }

    func send(_ number: Int) { port.send(number) }
}

// MARK: Subjects

private final class Stream<Numbers: Channel>: OperationSubject {
    let name = Numbers.name
    private let channel: Numbers

    init(_ channel: Numbers) { self.channel = channel }

    func measure(_ count: Int) -> Int64 {
        measured { [channel] in
            async let sender: Void = { for number in 0..<count { channel.send(number) } }()
            var numbers = channel.numbers.makeAsyncIterator()
            for _ in 0..<count { _ = try! await numbers.next() }
            await sender
        }
    }
}

private final class Turns<Numbers: Channel>: OperationSubject {
    let name = Numbers.name
    private let (there, back): (Numbers, Numbers)

    init(_ there: Numbers, _ back: Numbers) { (self.there, self.back) = (there, back) }

    func measure(_ count: Int) -> Int64 {
        measured { [there, back] in
            async let echo: Void = {
                var numbers = there.numbers.makeAsyncIterator()
                for _ in 0..<count { back.send(try! await numbers.next()!) }
            }()
            var numbers = back.numbers.makeAsyncIterator()
            for number in 0..<count {
                there.send(number)
                _ = try! await numbers.next()
            }
            await echo
        }
    }
}
