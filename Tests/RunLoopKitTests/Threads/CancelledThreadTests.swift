import LoopTestSupport
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
    /// Threads that are cancelled (`pthread_cancel`): a call of the library takes effect completely or not at all.
    @Suite(.timeBound) struct CancelledThreadTests {
        /// A cancelled thread leaves frames that never return: ThreadSanitizer's own `epoll_wait` among them, and stack
        /// that AddressSanitizer attributes to them when the thread's destructors use it.
        private static let endsInAWait = ConditionTrait.disabled(
            if: Kernel.hasSanitizer, "a sanitizer does not follow a thread that is cancelled in a wait")

        /// Each of these wakes a sleeping loop, by a `write`, which the C library makes a cancellation point.
        @Test("Sends of a cancelled thread are completed")
        func sendsAreCompleted() throws {
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

        /// The caller's lock is not left locked, and its block does not run with a deallocated stack.
        @Test("Waits for another thread continue in a cancelled thread")
        func waitsContinue() throws {
            let worker = try LoopThread(name: "asked")
            let survived = try cancelled {
                #expect((try? worker.performAndWait { 7 }) == 7)
                worker.stop()
                worker.join()
            }
            #expect(survived)
        }

        /// A cancelled thread ends in one place alone, the wait of a run, and its loop ends with it.
        @Test("A thread cancelled in its run ends its loop", CancelledThreadTests.endsInAWait)
        func cancelledInItsRun()
            throws
        {
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
            #expect(loop.currentMode == nil && !loop.isWaiting)
        }

        /// Its worker is joined as usual, and the time of its clock continues without it.
        @Test("A loop thread cancelled in its run has ended", CancelledThreadTests.endsInAWait)
        func loopThreadCancelledInItsRun() throws {
            let clock = VirtualClock(.manual)
            let worker = try LoopThread(name: "cancelled", clock: clock)
            let other = Loop(clock: clock)
            let count = Count()
            other.add(Loop.Timer(after: .seconds(1)) { _ in count.up() })
            let box = Box<pthread_t>()
            #expect(worker.perform { box.value = pthread_self() })
            spin(until: worker.loop.waker.isAsleep && box.value != nil)
            pthread_cancel(box.value!)
            worker.join()
            #expect(!worker.perform {})
            #expect((try? worker.performAndWait { 7 }) == nil)
            worker.stop()
            clock.advance(by: .seconds(1))
            #expect(count.value == 1)
            other.end()
        }

        /// Automatic time jumps to the next deadline of the loops that sleep.
        @Test("Time does not jump to a deadline of a cancelled thread", CancelledThreadTests.endsInAWait)
        func deadlineOfACancelledThread() throws {
            let clock = VirtualClock()
            let hold = clock.hold()
            let loop = Box<Loop>()
            let isMade = Gate()
            let thread = try System.startThread(stackSize: nil) {
                loop.value = Loop(clock: clock)
                loop.value!.add(Loop.Timer(after: .seconds(3600)) { _ in })
                isMade.open()
                loop.value!.run()
            }
            isMade.wait()
            spin(until: loop.value!.waker.isAsleep)
            pthread_cancel(thread)
            System.join(thread)
            hold.release()
            #expect(clock.now == seconds(0))
        }

        /// A run in virtual time within another run's handler: neither loop returns from its run.
        @Test("A thread cancelled in a nested run ends all of its loops", CancelledThreadTests.endsInAWait)
        func cancelledInANestedRun() throws {
            let clock = VirtualClock(.manual)
            let log = Log<String>()
            let loops = Log<Loop>()
            let thread = try System.startThread(stackSize: nil) {
                let (own, outer, inner) = (Loop.current, Loop(clock: clock), Loop(clock: clock))
                for (loop, name) in [(own, "own"), (outer, "outer"), (inner, "inner")] {
                    loops.add(loop)
                    loop.add(Loop.Source0(cancel: { log.add("\(name) leaves \($1)") }, perform: {}))
                    loop.onEnd { log.add("\(name) ends") }
                }
                own.perform { outer.run() }
                outer.perform { inner.run() }
                own.run()
            }
            spin(until: loops.entries.count == 3 && loops.entries[2].waker.isAsleep)
            pthread_cancel(thread)
            System.join(thread)
            #expect(
                log.entries == ["inner", "outer", "own"].flatMap { ["\($0) leaves default", "\($0) ends"] })
            for loop in loops.entries { #expect(!loop.perform {}) }
            clock.advance(by: .seconds(1))
        }

        /// Runs `body` on a cancelled thread, and returns whether `body` returned.
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
