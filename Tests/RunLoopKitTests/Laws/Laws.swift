import LoopTestSupport
import TestSupport

@testable import RunLoopKit

extension LawPlayer {
    /// The laws that hold at any moment, in any depth of callouts.
    func checkLaws(_ moment: @autoclosure () -> String) {
        // The thread of the loops looks when the other one is done.
        guard violation == nil, !isElsewhere else { return }
        for loop in loops where !loop.isEnding {
            // Each third time, for it costs more than the step.
            guard isGoingQuiet || (stepsLeft + loop.number) % 3 == 0 else { continue }
            checkEpollSets(of: loop, moment)
            checkTimers(of: loop, moment)
        }
        for item in items { item.checkItself() }
        for loop in loops {
            loop.queue?.checkItself()
            loop.quota?.checkItself()
        }
        // Not each time: common modes catch up with items of `common` when they are asked.
        if isOutside { checkMembership() }
    }

    /// Of a ninth of the items. Asking wakes no loop.
    private func checkMembership() {
        for item in items where isGoingQuiet || (stepsLeft + item.index) % 9 == 0 {
            guard let actual = item.item else { continue }
            for loop in loops where !loop.isEnding {
                let hadNote = loop.loop!.waker.hasNote
                for mode in LawProgram.modes {
                    let expected = item.places.contains(loop.place(mode))
                    let found = loop.loop!.contains(actual, in: Loop.Mode(mode))
                    expect(expected == found, "\(item) is in \(mode) of \(loop.number): \(found)")
                }
                let isWoken = loop.loop!.waker.hasNote && !hadNote
                expect(!isWoken, "loop \(loop.number) is woken by the question for the modes of \(item)")
            }
        }
    }

    /// Each heap has its timers by their times of now: no change leaves work to a later step. No limiter has a timer
    /// that fires unless a call is pending: it would keep a run going.
    private func checkTimers(of loop: LawLoop, _ moment: () -> String) {
        guard let actual = loop.loop else { return }
        let pending = loop.limiters.values.count { $0.isPending } + (loop.queue == nil ? 0 : 1)
        for state in actual.modeStates {
            let (areExact, ofLimiters) = actual.lock.withLock {
                (state.timers.areExact, state.timers.all.count { $0.isOfLimiter && $0.fires })
            }
            expect(areExact, "\(moment()): a timer of \(state.mode) of \(loop.number) is not where its time belongs")
            expect(
                ofLimiters <= pending,
                "\(moment()): limiters have \(ofLimiters) timers in \(state.mode) of \(loop.number), not \(pending)")
        }
    }

    /// Each epoll set watches exactly the items in its mode and the loop's own descriptors.
    private func checkEpollSets(of loop: LawLoop, _ moment: () -> String) {
        guard let actual = loop.loop else { return }
        for state in actual.modeStates {
            guard state.isOpen else { continue }
            let watched = Set(EpollSet.entries(of: state.pollDescriptor))
            let (expected, optional) = expectedEntries(of: actual, loop, state)
            let tooMany = watched.subtracting(expected).subtracting(optional)
            let tooFew = expected.subtracting(watched)
            expect(
                tooMany.isEmpty && tooFew.isEmpty,
                "\(moment()): the epoll set of \(state.mode) of \(loop.number) watches \(Array(tooMany)) too many, "
                    + "\(Array(tooFew)) too few")
        }
    }

    /// The entries that must be watched, and those that may be: an item that is being invalidated leaves one mode after
    /// the other.
    private func expectedEntries(
        of actual: Loop, _ loop: LawLoop, _ state: ModeState
    ) -> (expected: Set<EpollSet.Entry>, optional: Set<EpollSet.Entry>) {
        let own = [(actual.waker.descriptor, ReadyList.wakeUp)] + actual.watchedTimers
        let edge = PollEvents.read.union(.edge).rawValue
        var expected = Set(
            own.map { descriptor, token in EpollSet.Entry(descriptor: descriptor, events: edge, token: token) })
        var optional: Set<EpollSet.Entry> = []
        let place = loop.place(state.mode.name)
        for item in items {
            let (isHere, isLeaving) = (item.places.contains(place), item.leaving.contains(place))
            guard isHere || isLeaving, item.kind.isSource1, let port = item.item as? any Source1,
                let token = actual.lock.withLock({ state.source1s.token(of: port) })
            else { continue }
            for watch in port.hasHandler ? port.watches : [] {
                guard let events = watch.events else { continue }
                let entry = EpollSet.Entry(descriptor: watch.descriptor, events: events.rawValue, token: token)
                if isHere { expected.insert(entry) } else { optional.insert(entry) }
            }
        }
        return (expected, optional)
    }
}

extension Loop.Timer {
    /// Whether it has a time, and its handler does not run.
    fileprivate var fires: Bool { heapTimes.deadline < TimerHeap.stopped }
}
