import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Errors that tell a limit of the program's from a failure. See `ConnectionPeriodTests`.
@Suite(.timeBound) struct ConnectionOwnLimitTests {
    private typealias Connection = Loop.Connection

    /// The errors of a connection to a peer that does nothing.
    private func errors(_ act: (Connection, Ends) -> Void) throws -> [LoopError?] {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<LoopError?>(), Ends.sockets())
        let connection = try Connection(owning: ends.reader) { _, event in
            if case .closed(let error) = event { log.add(error) }
        }
        ends.isReaderClosed = true
        loop.add(connection)
        act(connection, ends)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        return log.entries
    }

    @Test("The end of the program's own period is no failure")
    func period() throws {
        let connections = Loop.ConnectionSet()
        let acts: [(Connection, Ends) -> Void] = [
            { connection, _ in connection.end(within: .seconds(1)) },
            { connection, _ in connection.end(within: .zero, readingFirst: true) },
            { connection, _ in connection.finishSending(within: .seconds(1)) },
            { connection, _ in
                connections.insert(connection)
                connections.end(within: .seconds(1)) {}
            },
        ]
        for act in acts {
            let errors = try errors(act)
            #expect(errors.count == 1 && errors[0]?.isOwnLimit == true && errors[0]?.errno == ETIMEDOUT)
        }
    }

    @Test("A failure is none of the program's limits, even in the period")
    func failure() throws {
        for endsItself in [false, true] {
            let errors = try errors { connection, ends in
                // The peer leaves it unread.
                connection.send([1])
                if endsItself { connection.finishSending(within: .seconds(1)) }
                ends.hangUp()
            }
            #expect(errors.map { $0?.errno } == [ECONNRESET] && errors[0]?.isOwnLimit == false)
        }
    }

    @Test("A failure that the connection has noticed stays the reason at the end of the period")
    func failureBefore() throws {
        let ends = Ends.sockets()
        let descriptor = OwnedDescriptor(ends.reader)
        ends.isReaderClosed = true
        var state = ConnectionState(descriptor, .ofSocket)
        let failure = LoopError(call: "read", code: ECONNRESET)
        state.failReceiving(failure)
        state.finishSending(dropping: false)
        #expect(state.expire() == .some(failure) && state.expire()??.isOwnLimit == false)
    }

    @Test("Errors that the program makes are none of its limits, and are equal to those of the same words")
    func equality() throws {
        let error = try #require(try errors { connection, _ in connection.end(within: .seconds(1)) }.first ?? nil)
        let made = LoopError(call: "end(within:)", errno: ETIMEDOUT, advice: "the peer has not finished")
        #expect(error == made && error.isOwnLimit && !made.isOwnLimit && error.description == made.description)
        let others = [
            LoopError(call: "end", errno: made.errno, advice: made.advice),
            LoopError(call: made.call, errno: EPIPE, advice: made.advice),
            LoopError(call: made.call, errno: made.errno),
        ]
        #expect(!others.contains(made))
    }
}
