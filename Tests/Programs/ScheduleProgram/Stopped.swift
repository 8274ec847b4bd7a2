#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// What a thread does to a loop, and is stopped in the middle of for ever: as a thread of normal priority may be,
    /// while others of higher priorities have the processors.
    struct Habit: Sendable {
        let name: String
        /// At how many of its points a stopped thread may keep the loop waiting: those at which it holds a lock.
        let most: Int
        /// Returns what the thread does, once the loop has got the items for it.
        let make: @Sendable (Loop) -> () -> Void

        init(_ name: String, keepsAt most: Int = 0, _ make: @escaping @Sendable (Loop) -> () -> Void) {
            (self.name, self.most, self.make) = (name, most, make)
        }
    }

    /// Thread 0 runs a loop. Thread 1 has the habit, and is stopped at one of its points. Thread 2 sends to a port: the
    /// loop must serve it, and sleep again, while thread 1 does nothing.
    final class StoppedPlay: @unchecked Sendable {
        static let stopped = 1

        private let habit: Habit
        /// Where thread 1 is stopped.
        fileprivate let stop: Int
        /// How many points it has reached, and at which of them it begins and has ended.
        fileprivate var points = 0
        private(set) var begin = 0, end = 0
        fileprivate var loopSleeps = false
        private var isServed = false
        private(set) var isKept = false

        init(_ habit: Habit, stop: Int) { (self.habit, self.stop) = (habit, stop) }

        /// Only the stopped thread could go on.
        fileprivate func settle() { isKept = !(isServed && loopSleeps) }

        func execute() {
            let findings = Findings(habit.name)
            let play = Play(findings)
            play.whileSleeping { [self] in
                loopSleeps = true
                return nil
            }
            play.thread { [self] in
                let loop = Loop.current
                let port = try! Loop.PortSource { [self] _ in isServed = true }
                loop.add(port, in: .default)
                let act = Shared(habit.make(loop))
                start { [self] in
                    begin = points
                    act.value()
                    end = points
                    loop.perform { loop.stop() }
                }
                start { port.send() }
                loop.run(mode: .default, for: .seconds(1_000_000))
                // The habit may have been to stop it.
                if end == 0 { loop.run(mode: .default, for: .seconds(1_000_000)) }
            }
            Scheduler(StoppedOrder(play: self), findings, complaint: play.complaint).run(play.bodies)
        }
    }

    /// The threads run as they do without a switch, but for the stopped one, which goes on when no other can.
    private struct StoppedOrder: Order {
        let play: StoppedPlay
        var isStopped = false
        var hasGoneOn = false

        mutating func pick(_ choice: Choice, at index: Int) -> Int {
            defer { play.loopSleeps = false }
            if choice.current == StoppedPlay.stopped {
                play.points += 1
                if play.points == play.stop { isStopped = true }
            }
            guard isStopped, !hasGoneOn else { return choice.usual }
            let others = choice.enabled.without(StoppedPlay.stopped)
            if let first = others.first {
                return choice.current.flatMap { others.contains($0) ? $0 : nil } ?? first
            }
            hasGoneOn = true
            play.settle()
            return choice.usual
        }
    }

    /// Stops a thread at each point of each habit, and prints at how many the loop waits for it. Returns whether that
    /// are as many as the habits say, at most.
    func playStopped() -> Bool {
        var holds = true
        for habit in habits {
            for _ in 0..<2 { StoppedPlay(habit, stop: 0).execute() }  // Makes what is made once in a process.
            let free = StoppedPlay(habit, stop: 0)
            free.execute()
            let kept = (free.begin + 1...max(free.begin + 1, free.end)).filter { point in
                let play = StoppedPlay(habit, stop: point)
                play.execute()
                return play.isKept
            }
            let isTooMuch = kept.count > habit.most
            print(
                "\(habit.name): stopped at \(free.end - free.begin) points, keeps the loop waiting at \(kept.count)"
                    + (isTooMuch ? ", not \(habit.most)" : ""))
            if isTooMuch { holds = false }
        }
        return holds
    }
#endif
