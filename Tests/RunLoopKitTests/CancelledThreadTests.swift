import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// Bionic has no pthread_cancel.
#if !canImport(Android)
    /// Threads that are cancelled (`pthread_cancel`): a call of the library is made whole or not at all.
    @Suite(.timeBound) struct CancelledThreadTests {
        /// Each of these wakes a loop that sleeps, by a `write`, which the C library makes a cancellation point.
        @Test func sendsOfACancelledThreadAreMadeWhole() throws {
            let worker = try LoopThread(name: "asleep")
            let loop = worker.loop
            let log = Log<String>()
            let source = Loop.Source0 { log.add("source") }
            let port = try Loop.PortSource { log.add("port \($0)") }
            let messages = Loop.MessagePort<Int> { log.add("message \($0)") }
            for item in [source, port, messages] { loop.add(item, in: .common) }
            let sends: [@Sendable () -> Void] = [
                { worker.perform { log.add("block") } },
                { source.signal() },
                { port.send() },
                { messages.send(1) },
                { loop.wakeUp() },
                { worker.perform(after: .zero) { log.add("timer") } },
                { source.invalidate() },
                { worker.stop() },
            ]
            let survived = try cancelled {
                for send in sends {
                    spin(until: loop.waker.isAsleep)
                    send()
                }
            }
            #expect(survived)
            worker.join()
            #expect(log.entries == ["block", "source", "port 1", "message 1", "timer"])
        }

        /// The lock with which a caller waits is not left locked, and its block not run with a stack that has gone.
        @Test func waitsForAnotherThreadGoOn() throws {
            let worker = try LoopThread(name: "asked")
            let survived = try cancelled {
                #expect((try? worker.performAndWait { 7 }) == 7)
                worker.stop()
                worker.join()
            }
            #expect(survived)
        }

        /// The one place where a cancelled thread ends is the wait of a run: with it ends its loop.
        @Test func aThreadCancelledInItsRunEndsItsLoop() throws {
            let log = Log<String>()
            let asked = Box<Loop>()
            let ready = Gate()
            let thread = try System.startThread(stackSize: nil) {
                let loop = Loop.current
                loop.add(Loop.Source0(cancel: { log.add("leaves \($1)") }, perform: {}))
                loop.onEnd { log.add("end") }
                asked.value = loop
                ready.open()
                loop.run()
                log.add("returned")
            }
            ready.wait()
            let loop = asked.value!
            spin(until: loop.waker.isAsleep)
            pthread_cancel(thread)
            System.join(thread)
            #expect(log.entries == ["leaves default", "end"])
            #expect(!loop.perform {})
            #expect(loop.waker.descriptor == -1)
        }

        /// Runs `body` on a thread that has been cancelled, and says whether it came to its end.
        private func cancelled(_ body: @escaping @Sendable () -> Void) throws -> Bool {
            let hasEnded = Gate()
            let thread = try System.startThread(stackSize: nil) {
                pthread_cancel(pthread_self())
                body()
                pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil)
                hasEnded.open()
            }
            System.join(thread)
            return hasEnded.isOpenNow
        }
    }
#endif
