import TestSupport
import Testing

@testable import RunLoopDemo

@Suite(.timeBound) struct TimelineTests {
    @Test("A thread that stands still between a call and its action makes no window that ends before it begins")
    func lateAction() {
        var timeline = Timeline(interval: .milliseconds(100))
        let call = Call(time: .milliseconds(10), value: 1)
        timeline.add(call)
        for lane in Lane.allCases { timeline.add(Timeline.Action(time: .milliseconds(500), call: call), in: lane) }
        #expect(
            timeline.windows(of: .debounceLeading, now: .seconds(1)) == [.milliseconds(500) ... .milliseconds(600)])
        for lane in Lane.allCases { _ = timeline.windows(of: lane, now: .seconds(1)) }
    }
}
