import RunLoopKit

/// The seven limiters on a loop, called together. On the loop's thread.
struct LanePlayer {
    let loop: Loop
    private let start: Loop.Instant
    private let timeline: LoopBound<Timeline>
    private let limiters: [(Call) -> Void]

    init(interval: Duration, on loop: Loop) {
        let start = loop.now
        let timeline = LoopBound(Timeline(interval: interval), on: loop)
        self.loop = loop
        self.start = start
        self.timeline = timeline
        limiters = Lane.allCases.map { lane in
            lane.makeLimiter(interval: interval, on: loop) { call in
                let now = start.duration(to: loop.now)
                timeline.value.add(Timeline.Action(time: now, call: call), in: lane)
            }
        }
    }

    /// Since the start.
    var now: Duration { start.duration(to: loop.now) }

    var recorded: Timeline { timeline.value }

    /// Calls them all.
    func call() {
        let call = Call(time: now, value: timeline.value.callCount + 1)
        timeline.value.add(call)
        for limiter in limiters { limiter(call) }
    }

    func forget(before time: Duration) { timeline.value.forget(before: time) }

    /// Calls the limiters at the given times in virtual time, and returns the timeline.
    ///
    /// - Throws: `LoopError` when the loop's descriptors cannot be had.
    static func rehearse(_ times: [Duration], interval: Duration) throws(LoopError) -> Timeline {
        let clock = VirtualClock(.manual)
        let loop = Loop(clock: clock)
        defer { loop.end() }
        try loop.prepare(.default)
        let lanes = LanePlayer(interval: interval, on: loop)
        for time in times {
            clock.advance(by: time - lanes.now)
            lanes.call()
        }
        // All pending calls are due within an interval.
        clock.advance(by: interval)
        return lanes.recorded
    }
}
