import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Whether the program has asked for the end of a supervised child. See `SupervisedChildTests`.
@Suite(.timeBound) struct SupervisedChildRequestTests {
    private typealias Supervised = Loop.SupervisedChild
    private typealias Child = Loop.ChildProcess

    @Test("A handler tells a restart on purpose, and the end, from a crash")
    func lastEnd() {
        let (loop, log, starts) = (Loop.inVirtualTime().0, Log<String>(), Count())
        let supervised = Supervised(on: loop, restarts: .always) {
            try Child(starts.up() % 2 == 1 ? "false" : "sleep", ["1000"])
        }
        #expect(!supervised.lastEndWasAskedFor)
        supervised.start { supervised, event in
            switch event {
            case .started:
                // What was asked for is that of the child before.
                log.add("started \(supervised.lastEndWasAskedFor)")
                if starts.value == 2 { supervised.restart(within: .zero) }
                if starts.value == 4 { supervised.end(within: .zero) }
            case .ended(_, let pause): log.add("ended \(pause != nil) \(supervised.lastEndWasAskedFor)")
            case .over: log.add("over \(supervised.lastEndWasAskedFor)")
            case .notStarted: break
            }
        }
        loop.run()
        #expect(
            log.entries == [
                "started false", "ended true false", "started false", "ended true true", "started true",
                "ended true false", "started false", "ended false true", "over true",
            ])
    }

    @Test("What is asked for in a pause, or of the child itself, is none of the end before")
    func otherRequests() {
        let (loop, log, starts) = (Loop.inVirtualTime().0, Log<Bool>(), Count())
        let supervised = Supervised(on: loop, backoff: .init(from: .seconds(1000), to: .seconds(1000))) {
            try Child("sleep", ["1000"])
        }
        supervised.start { supervised, event in
            switch event {
            case .started(let child):
                starts.up()
                child.end(within: .zero)
            case .ended:
                if starts.value == 1 { supervised.restart(within: .zero) } else { supervised.end(within: .zero) }
                log.add(supervised.lastEndWasAskedFor)
            case .over: log.add(supervised.lastEndWasAskedFor)
            case .notStarted: break
            }
        }
        loop.run()
        #expect(log.entries == [false, false, false])
    }
}
