import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Handlers that are called when a loop ends.
@Suite(.timeBound) struct EndHandlerTests {
    @Test("Handlers are called once, in the order of their registration")
    func calledOnceInOrder() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        for number in 0..<20 { loop.onEnd { log.add(number) } }
        loop.end()
        loop.end()
        #expect(log.entries == Array(0..<20))
        #expect(loop.onEnd { log.add(-1) } == nil)
    }

    @Test("A handler keeps no run going and makes no mode")
    func keepsNoRunGoing() {
        let (loop, _) = Loop.inVirtualTime()
        let handler = loop.onEnd {}
        #expect(handler != nil && loop.modes == [.default])
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    /// `waitForEnd()` returns by such a handler: the thread then calls nothing of the program's any more.
    @Test("What items and blocks captured is released before the last handlers are called")
    func releasesBeforeTheLast() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Bool>()
        let captured: WeakPair
        do {
            let (timer, block) = (Count(), Count())
            captured = WeakPair(timer, block)
            loop.add(Loop.Timer(after: .seconds(1)) { _ in timer.up() })
            loop.perform { block.up() }
        }
        loop.onEnd { log.add(captured.isGone) }
        #expect(loop.afterEnd { log.add(captured.isGone) } != nil)
        loop.end()
        #expect(log.entries == [false, true])
    }

    @Test("A mistake that the end finds is reported before the last handlers are called")
    func reportsBeforeTheLast() async {
        await #expect(processExitsWith: .success) {
            let log = Log<String>()
            Loop.mistakeHandling = .call { mistake in
                if case .jobsOfEndedLoop = mistake { log.add("reported") }
            }
            let thread = try LoopThread(name: "ended")
            let loop = thread.loop
            precondition(loop.afterEnd { log.add("ended") } != nil)
            loop.onEnd { Task(executorPreference: loop.taskExecutor) {} }
            thread.stop()
            thread.joinBlocking()
            precondition(log.entries == ["reported", "ended"])
        }
    }

    private final class WeakPair: @unchecked Sendable {
        private weak var first: Count?
        private weak var second: Count?

        init(_ first: Count, _ second: Count) { (self.first, self.second) = (first, second) }

        var isGone: Bool { first == nil && second == nil }
    }

    @Test("A cancelled handler is released and not called")
    func cancelledHandler() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        weak var captured: Count?
        let handler: Loop.EndHandler?
        do {
            let count = Count()
            captured = count
            handler = loop.onEnd { count.up() }
        }
        #expect(captured != nil)
        handler?.cancel()
        #expect(captured == nil)
        handler?.cancel()
        // One cancels another that would be called later.
        let box = Box<Loop.EndHandler>()
        loop.onEnd { box.value?.cancel() }
        box.value = loop.onEnd { log.add(1) }
        loop.onEnd { log.add(2) }
        loop.end()
        box.value?.cancel()
        #expect(log.entries == [2])
    }

    @Test("On a thread, end handlers come after the last block and the cancel handlers of sources")
    func afterTheLastBlock() throws {
        let thread = try LoopThread(clock: VirtualClock())
        let log = Log<String>()
        let (began, go) = (Gate(), Gate())
        thread.loop.onEnd {
            #expect(Loop.current === thread.loop && thread.isCurrent)
            #expect(!thread.perform {} && thread.loop.onEnd {} == nil)
            log.add("end")
        }
        thread.loop.add(Loop.Source0(cancel: { _, _ in log.add("cancel") }, perform: {}), in: .default)
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        thread.perform { log.add("block") }
        thread.stop()
        #expect(thread.loop.onEnd { log.add("late") } == nil)
        go.open()
        thread.join()
        #expect(log.entries == ["block", "cancel", "end"])
    }

    @Test("A loop deallocated with its last reference releases its handlers uncalled")
    func deallocatedLoop() {
        let count = Count()
        weak var captured: Log<Int>?
        do {
            let log = Log<Int>()
            captured = log
            let (loop, _) = Loop.inVirtualTime()
            let handler = loop.onEnd {
                log.add(1)
                count.up()
            }
            #expect(handler != nil && captured != nil)
        }
        #expect(captured == nil && count.value == 0)
    }

    @Test("A loop says which modes are common")
    func commonModes() {
        let (loop, _) = Loop.inVirtualTime()
        #expect(loop.isCommon(.default) && loop.isCommon(.common) && !loop.isCommon(.tracking))
        loop.addCommonMode(.tracking)
        #expect(loop.isCommon(.tracking) && loop.modes == [.default])
    }
}
