import LoopTestSupport
import Testing

@testable import RunLoopKit

/// Unix signals with a handler, which interrupt the system call of their thread (EINTR).
@Suite(.serialized, .timeBound) struct InterruptedWaitTests {
    @Test("A signal does not end a wait early", arguments: [false, true])
    func signalInAWait(inVirtualTime: Bool) throws {
        let thread = try LoopThread(clock: inVirtualTime ? VirtualClock(.manual) : nil)
        let signalled = try thread.performAndWait { SignalledThread() }
        let timer = Loop.Timer(after: .seconds(1_000_000)) { _ in }
        thread.loop.add(timer, in: .common)
        for number in 0..<200 {
            spin(until: thread.loop.waker.isAsleep)
            signalled.interrupt()
            if number % 20 == 0 { #expect(try thread.performAndWait { number } == number) }
        }
        thread.stop()
        thread.join()
    }
}
