#if DEBUG
    import TestSupport
    import Testing

    @testable import RunLoopKit

    /// What debug builds check of locks: the holder, the order, and that handlers are called without any.
    @Suite(.timeBound) struct LockTests {
        @Test("Taking a lock out of order traps and names both ranks")
        func inversion() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let item = Lock(.item)
                let loop = Lock(.loop)
                item.withLock { loop.withLock {} }
            }
            expect(result, says: ["a thread that holds a lock of rank 'item' took one of rank 'loop'"])
        }

        @Test("Two locks of one rank do not nest")
        func equalRanks() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let one = Lock(.item)
                let other = Lock(.item)
                one.withLock { other.withLock {} }
            }
            expect(result, says: ["a thread that holds a lock of rank 'item' took one of rank 'item'"])
        }

        @Test("Locks taken in order nest, and may be released in any order")
        func order() {
            let loop = Lock(.loop)
            let item = Lock(.item)
            let leaf = Lock(.leaf)
            loop.lock()
            item.lock()
            leaf.withLock { item.assertHeld() }
            loop.unlock()
            item.assertHeld()
            leaf.withLock {}
            item.unlock()
            Lock.assertNoneHeld()
        }

        @Test("A lock that nobody holds is not held")
        func unheld() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                Lock(.clock).assertHeld()
            }
            expect(result, says: ["a lock of rank 'clock' is not held by this thread", "LockTests.swift"])
        }

        @Test("A function that is to unlock a lock, and does not, traps")
        func heldForEver() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                func forget(unlocking held: consuming Lock.Held) {}
                let guarded = Guarded()
                guarded.lock.unlock(guarded.lock.hold())
                forget(unlocking: guarded.lock.hold())
            }
            expect(result, says: ["a lock that was to be unlocked is still held"])
        }

        @Test("A lock that another thread holds is not held")
        func heldElsewhere() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let guarded = Guarded()
                let worker = try LoopThread()
                guarded.lock.lock()
                worker.perform { guarded.lock.assertHeld() }
                worker.stop()
                worker.joinBlocking()
            }
            expect(result, says: ["a lock of rank 'engine' is not held by this thread"])
        }

        @Test("Work that runs with a lock held traps")
        func callout() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let work = Reply({}, .ofThread("worker")) { _ in }.makeBlock()
                Lock(.limiter).withLock { work() }
            }
            expect(result, says: ["called with locks of rank 'limiter' held"])
        }

        @Test("A condition is waited for with its lock alone held")
        func wait() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let loop = Lock(.loop)
                let leaf = Lock(.leaf)
                let changed = Condition()
                loop.withLock { leaf.withLock { changed.wait(with: leaf) } }
            }
            expect(result, says: ["called with locks of rank 'loop' held"])
        }

        @Test("A lock is held again after a wait")
        func heldAfterWait() throws {
            let guarded = Guarded()
            let worker = try LoopThread()
            guarded.lock.withLock {
                worker.perform {
                    guarded.lock.withLock { guarded.isDone = true }
                    guarded.changed.broadcast()
                }
                while !guarded.isDone { guarded.changed.wait(with: guarded.lock) }
                guarded.lock.assertHeld()
            }
            Lock.assertNoneHeld()
        }
    }

    private final class Guarded: @unchecked Sendable {
        let lock = Lock(.engine)
        let changed = Condition()
        var isDone = false
    }
#endif
