import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// How often a supervised child may end. The lives and the pauses are virtual. See `SupervisedChildTests`.
@Suite(.timeBound) struct SupervisedChildLimitTests {
    private typealias Supervised = Loop.SupervisedChild
    private typealias Child = Loop.ChildProcess

    private struct Refusal: Error {}

    /// A supervised child whose ends come at known times.
    private final class Lives: Sendable {
        let loop: Loop
        let log = Log<String>()
        let supervised: Supervised

        /// - Parameters:
        ///   - lives: How many seconds each child lives; 0 if it cannot be started. The last one holds from then on.
        ///   - pause: Between two children, in seconds.
        init(
            _ lives: [Int64], pause: Int64 = 1, settlingTime: Duration? = nil, limit: Int? = 3, in period: Duration?
        ) {
            let (loop, starts) = (Loop.inVirtualTime().0, Count())
            self.loop = loop
            let pauses = Loop.Backoff(from: .seconds(pause), to: .seconds(pause))
            supervised = Supervised(
                on: loop, backoff: pauses, settlingTime: settlingTime, quickEndLimit: limit, quickEndPeriod: period
            ) {
                let life = lives[min(starts.up(), lives.count) - 1]
                if life == 0 { throw Refusal() }
                let child = try Child("sleep", ["100000"])
                loop.add(Loop.Timer(after: .seconds(life)) { _ in child.end(within: .zero) })
                return child
            }
        }

        /// The seconds at which children ended, or could not be started, and why there was no other. A child that
        /// always starts again is ended after some time.
        func play(_ handle: @escaping Supervised.Handler = { _, _ in }) -> String {
            supervised.start { [log, loop] supervised, event in
                let seconds = Loop.Instant(nanoseconds: 0).duration(to: loop.now).components.seconds
                switch event {
                case .ended, .notStarted: log.add("\(seconds)")
                case .over(let reason): log.add("\(reason)")
                case .started: break
                }
                if log.entries.count == 20 { supervised.end(within: .zero) }
                handle(supervised, event)
            }
            loop.run()
            return log.entries.joined(separator: " ")
        }
    }

    private static let gaveUp = "gave up after too many ends"
    private static let goesOn = "ended by the program"

    @Test("Ends in a period are too many, however long each child has run")
    func inPeriod() {
        let (long, limit) = (Duration.seconds(60), Self.gaveUp)
        #expect(Lives([10], settlingTime: .seconds(5), in: long).play() == "10 21 32 \(limit)")
        #expect(Lives([10, 0, 10], settlingTime: .seconds(5), in: long).play() == "10 11 22 \(limit)")
        #expect(Lives([10], settlingTime: .seconds(5), in: nil).play().hasSuffix(Self.goesOn))
        #expect(Lives([10], limit: nil, in: long).play().hasSuffix(Self.goesOn))
    }

    @Test("The period slides, and an end that is exactly a period old is in it")
    func slides() {
        #expect(Lives([0, 0, 30, 0], in: .seconds(10)).play() == "0 1 32 33 34 \(Self.gaveUp)")
        #expect(Lives([0, 8, 0], in: .seconds(9)).play() == "0 9 10 11 \(Self.gaveUp)")
        #expect(Lives([0], in: .seconds(2)).play() == "0 1 2 \(Self.gaveUp)")
        #expect(Lives([0], in: .seconds(2) - .nanoseconds(1)).play().hasSuffix(Self.goesOn))
    }

    @Test(
        "In no period only ends at one moment are together",
        arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
    func noPeriod(_ period: Duration) {
        #expect(Lives([0], pause: 0, in: period).play() == "0 0 0 \(Self.gaveUp)")
        #expect(Lives([0], in: period).play().hasSuffix(Self.goesOn))
        #expect(Lives([5], limit: 1, in: period).play() == "5 \(Self.gaveUp)")
    }

    @Test("In a period without end all ends are together", arguments: [Duration.seconds(Int64.max), .seconds(1 << 40)])
    func endlessPeriod(_ period: Duration) {
        #expect(Lives([5000], settlingTime: .seconds(1), in: period).play() == "5000 10001 15002 \(Self.gaveUp)")
        #expect(Lives([5000], limit: 0, in: period).play() == "5000 \(Self.gaveUp)")
    }

    @Test("A restart on purpose counts in no period, and takes back no end")
    func restarts() {
        let starts = Count()
        let lives = Lives([0, 1000, 1000, 0], in: .seconds(60))
        let found = lives.play { supervised, event in
            guard case .started(let child) = event, starts.up() < 3 else { return }
            #expect(supervised.restart(within: .zero))
            // Or the loop may go on to the time of the next timer.
            waitForEnd(of: child.process)
        }
        #expect(found == "0 1 1 1 2 \(Self.gaveUp)")
    }

    @Test("A child that has settled begins the pauses again, in a period too")
    func pauses() {
        let (loop, log, starts) = (Loop.inVirtualTime().0, Log<Duration?>(), Count())
        let supervised = Supervised(
            on: loop, backoff: .init(from: .seconds(1)), settlingTime: .seconds(5), quickEndLimit: 4,
            quickEndPeriod: .seconds(60)
        ) {
            guard starts.up() == 3 else { throw Refusal() }
            let child = try Child("sleep", ["1000"])
            loop.add(Loop.Timer(after: .seconds(5)) { _ in child.end(within: .zero) })
            return child
        }
        supervised.start { _, event in
            switch event {
            case .ended(_, let pause), .notStarted(_, let pause): log.add(pause)
            case .started, .over: break
            }
        }
        loop.run()
        #expect(log.entries == [.seconds(1), .seconds(2), .seconds(1), nil])
    }
}
