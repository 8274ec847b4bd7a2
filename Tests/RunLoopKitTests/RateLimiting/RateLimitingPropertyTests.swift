import TestSupport
import Testing

@testable import RunLoopKit

/// Properties that hold for all calls, checked on generated scenarios.
@Suite(.timeBound) struct RateLimitingPropertyTests {
    private static let seeds = 0..<programCount(3000)

    @Test("A throttle never acts twice within an interval, except by a flush")
    func throttleNeverActsTwice() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: true)
            story.play { $0.action }
            for (first, second) in zip(story.actions, story.actions.dropFirst())
            where !story.flushes.contains(second.time) {
                #expect(second.time - first.time >= story.interval, "\(story)")
            }
        }
    }

    @Test("The example of the throttle's fix acts at 0, 32 and 64")
    func exampleOfFix() {
        var play = RateLimitPlay(RateLimitState(.throttle, interval: 32, edges: [.leading, .trailing]))
        for time: Int64 in [0, 1, 33] { play.call(time, at: time) }
        play.finish()
        #expect(play.actions.map(\.time) == [0, 32, 64])
    }

    @Test("A flush stops the timer")
    func flushStopsTimer() {
        var play = RateLimitPlay(RateLimitState(.debounce(maxWait: nil), interval: 10, edges: .trailing))
        play.call(1, at: 0)
        play.flush(at: 5)
        play.call(2, at: 8)
        play.finish()
        #expect(play.actions == [.init(time: 5, input: 1), .init(time: 18, input: 2)])
    }

    @Test("A debounce never acts inside a burst")
    func debounceNeverActsInBurst() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: false, hasMaxWait: false)
            story.play { $0.callOrCancel }
            for action in story.actions {
                let before = story.calls.last { $0 < action.time }
                let isLeading = story.edges.contains(.leading) && story.calls.contains(action.time)
                // With nothing before it, or nothing within the interval; or a cancel began a new burst.
                let isQuiet = before.map { action.time - $0 >= story.interval } ?? true
                let isNew = story.cancels.contains { $0 <= action.time && $0 >= before ?? 0 }
                #expect(isQuiet || (isLeading && isNew), "\(story)")
            }
        }
    }

    @Test("The last input of every burst is delivered exactly once")
    func lastInputIsDelivered() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: seed % 2 == 0, edges: seed % 3 == 0 ? .trailing : nil)
            guard story.edges.contains(.trailing) else { continue }
            story.play { _ in .call }
            let delivered = story.actions.map(\.input)
            #expect(Set(delivered).count == delivered.count, "\(story)")
            for (index, time) in story.calls.enumerated() {
                let next = index + 1 < story.calls.count ? story.calls[index + 1] : .max
                if next - time >= story.interval, next > time {
                    #expect(delivered.contains(Int64(index)), "\(story)")
                }
            }
        }
    }

    @Test("maxWait is never exceeded")
    func maxWaitHolds() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: false, hasMaxWait: true, edges: .trailing)
            story.play { _ in .call }
            let limit = max(story.maxWait!, story.interval)
            for time in story.calls {
                #expect(story.actions.contains { $0.time >= time && $0.time - time <= limit }, "\(story)")
            }
        }
    }

    /// Also where the timer is late, since its loop is busy, and where the interval changes inside a burst.
    @Test("A maxWait that is never over changes nothing")
    func endlessMaxWait() {
        for seed in Self.seeds {
            var random = SplitMix(seed)
            let edges: [RateLimitEdges] = [.trailing, .leading, [.leading, .trailing]]
            let edge = edges[Int(seed % 3)]
            var states = [nil, Int64.max].map {
                RateLimitState(.debounce(maxWait: $0), interval: 20, edges: edge)
            }
            var time: Int64 = 0
            for _ in 0..<60 {
                time += Int64.random(in: 0...15, using: &random)
                let event = Int.random(in: 0..<8, using: &random)
                let interval = Int64.random(in: 0...40, using: &random)
                let acts = states.indices.map { index in
                    switch event {
                    case 0...3: return states[index].call(at: time)
                    case 4, 5: return states[index].timerFired(at: time)
                    case 6: return states[index].flush(at: time)
                    default:
                        states[index].changeInterval(to: interval)
                        return false
                    }
                }
                #expect(acts[0] == acts[1] && states[0].timer == states[1].timer, "seed \(seed), at \(time)")
            }
        }
    }

    @Test("A call after the end of a burst, of which the loop has not heard yet, continues the burst")
    func callBeforeALateTimer() {
        var state = RateLimitState(.debounce(maxWait: 1000), interval: 20, edges: .trailing)
        var acts = [state.call(at: 0), state.call(at: 30), state.timerFired(at: 40)]
        #expect(acts == [false, false, false] && state.timer == 50)
        // One that has waited as long as it may does not wait for the timer.
        acts = [state.timerFired(at: 50), state.call(at: 60), state.call(at: 1060)]
        #expect(acts == [true, false, true])
    }

    @Test("No limiter acts without a call")
    func noActionWithoutCall() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: seed % 2 == 0, hasMaxWait: seed % 3 == 0)
            story.play { $0.action }
            #expect(story.actions.count <= story.calls.count && !story.play.state.isPending, "\(story)")
        }
    }

    @Test("A new interval counts from the next event on")
    func newInterval() {
        var play = RateLimitPlay(RateLimitState(.debounce(maxWait: nil), interval: 10, edges: .trailing))
        play.call(1, at: 0)
        play.changeInterval(to: 100, at: 5)
        // The timer comes at 10, and finds that it has to wait.
        play.finish()
        #expect(play.actions == [.init(time: 100, input: 1)])
        play.changeInterval(to: 3, at: 200)
        play.call(2, at: 200)
        play.finish()
        #expect(play.actions.last == .init(time: 203, input: 2))
        play.changeInterval(to: -1, at: 300)
        #expect(play.state.interval == 0)
    }

    @Test("A shorter interval counts from the next call on, also inside a burst")
    func shorterInterval() {
        for (edges, lastAction) in [(RateLimitEdges.trailing, 1), (.leading.union(.trailing), 2)] {
            var play = RateLimitPlay(RateLimitState(.debounce(maxWait: nil), interval: 1000, edges: edges))
            play.call(1, at: 0)
            play.changeInterval(to: 10, at: 1)
            play.call(2, at: 2)
            play.call(3, at: 7)
            play.finish()
            #expect(play.actions.last == .init(time: 17, input: 3))
            #expect(play.actions.count == lastAction)
        }
        var play = RateLimitPlay(RateLimitState(.throttle, interval: 1000, edges: [.leading, .trailing]))
        play.call(1, at: 0)
        play.changeInterval(to: 10, at: 1)
        play.call(2, at: 2)
        play.finish()
        #expect(play.actions == [.init(time: 0, input: 1), .init(time: 10, input: 2)])
    }

    /// With intervals that change between the calls at random.
    @Test("No call waits longer than the interval that it finds")
    func changingIntervals() {
        for seed in Self.seeds {
            var random = SplitMix(seed)
            let kinds: [RateLimitState.Kind] = [
                .throttle, .debounce(maxWait: nil), .debounce(maxWait: Int64(random.next() % 60)),
            ]
            let edges = RateLimitEdges(rawValue: UInt8(1 + random.next() % 3))
            var state = RateLimitState(kinds[Int(seed % 3)], interval: 20, edges: edges)
            var now: Int64 = 0
            for step in 0..<100 {
                now += Int64(random.next() % 15)
                while let due = state.timer, due <= now { _ = state.timerFired(at: due) }
                if random.next() % 4 == 0 { state.changeInterval(to: Int64(random.next() % 50)) }
                _ = state.call(at: now)
                if let timer = state.timer {
                    #expect(timer <= now + state.interval, "seed \(seed), step \(step), \(state)")
                } else {
                    #expect(!state.isPending, "seed \(seed), step \(step), \(state)")
                }
            }
        }
    }

    @Test("A quiet state behaves like a new one")
    func quietState() {
        for seed in Self.seeds {
            var story = Story(seed: seed, isThrottle: seed % 2 == 0, hasMaxWait: seed % 3 == 0)
            story.play { $0.action }
            let quiet = story.play.state.quietTime!
            var old = story.play.state
            var new = RateLimitState(old.kind, interval: story.interval, edges: story.edges)
            let start = max(quiet, 0)
            for time in [start, start + story.interval / 2, start + story.interval * 3] {
                while let due = new.timer, due <= time {
                    #expect(old.timerFired(at: due) == new.timerFired(at: due), "\(story)")
                    #expect(old.timer == new.timer, "\(story)")
                }
                #expect(old.call(at: time) == new.call(at: time), "\(story)")
                #expect(old.timer == new.timer, "\(story)")
            }
        }
    }

    @Test("A late timer does not lose its burst")
    func lateTimer() {
        var state = RateLimitState(.throttle, interval: 10, edges: [.leading, .trailing])
        var acts = state.call(at: 0)
        #expect(acts && state.timer == 10)
        acts = state.call(at: 1)
        #expect(!acts && state.timer == 10)
        // Due at 10, but the loop is busy until 25: the call acts in its place, and the interval counts from there.
        acts = state.call(at: 20)
        #expect(acts && state.timer == 30)
        acts = state.timerFired(at: 25)
        #expect(!acts && state.timer == 30)
        #expect(!state.isPending)
        acts = state.timerFired(at: 30)
        #expect(!acts && state.timer == nil)
    }

    @Test("Huge times saturate")
    func hugeTimes() {
        var state = RateLimitState(.debounce(maxWait: .max), interval: .max, edges: .trailing)
        var acts = state.call(at: 5)
        #expect(!acts && state.timer == .max)
        acts = state.call(at: .max - 1)
        #expect(!acts && state.timer == .max)
        acts = state.flush(at: .max - 1)
        #expect(acts && state.timer == nil)
        var past = RateLimitState(.throttle, interval: 10, edges: .leading)
        acts = past.call(at: .min)
        #expect(acts)
        acts = past.call(at: .max)
        #expect(acts)
    }
}

/// Random events for a limiter, and its actions.
private struct Story: CustomStringConvertible {
    enum Event { case call, flush, cancel }

    struct Dice {
        let value: UInt64
        var action: Event { value % 10 == 0 ? .flush : .call }
        var callOrCancel: Event { value % 10 == 0 ? .cancel : .call }
    }

    private var random: SplitMix
    let interval: Int64
    let edges: RateLimitEdges
    let maxWait: Int64?
    var play: RateLimitPlay
    var calls: [Int64] = []
    var flushes: [Int64] = []
    var cancels: [Int64] = []

    var actions: [RateLimitPlay.Action] { play.actions }

    init(seed: UInt64, isThrottle: Bool, hasMaxWait: Bool = false, edges wanted: RateLimitEdges? = nil) {
        random = SplitMix(seed)
        interval = Int64(1 + random.next() % 40)
        maxWait = hasMaxWait ? Int64(random.next() % 120) : nil
        let dice = RateLimitEdges(rawValue: UInt8(1 + random.next() % 3))
        edges = wanted ?? dice
        play = RateLimitPlay(
            RateLimitState(isThrottle ? .throttle : .debounce(maxWait: maxWait), interval: interval, edges: edges))
    }

    mutating func play(_ choose: (Dice) -> Event) {
        var now: Int64 = 0
        for _ in 0..<60 {
            // Mostly within the interval, now and then exactly on or beyond its end.
            let steps = [0, 1, interval / 3, interval / 2, interval - 1, interval, interval + 1, interval * 3]
            now += steps[Int(random.next() % UInt64(steps.count))]
            switch choose(Dice(value: random.next())) {
            case .call:
                play.call(Int64(calls.count), at: now)
                calls.append(now)
            case .flush:
                play.flush(at: now)
                flushes.append(now)
            case .cancel:
                play.cancel(at: now)
                cancels.append(now)
            }
        }
        play.finish()
    }

    var description: String {
        "interval \(interval), maxWait \(maxWait ?? -1), edges \(edges.rawValue), calls \(calls), flushes \(flushes), "
            + "cancels \(cancels), actions \(actions.map { [$0.time, $0.input] })"
    }
}
