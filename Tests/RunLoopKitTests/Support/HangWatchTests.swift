import Foundation
import TestSupport
import Testing

/// The watchdog that ends tests that hang.
@Suite(.timeBound) struct HangWatchTests {
    @Test("A test hangs when it runs for its limit without an event")
    func silentTestHangs() {
        var watch = HangWatch()
        #expect(watch.tick().isEmpty && watch.tick().isEmpty, "nothing runs")
        let number = watch.begin("slow", limit: 3)
        #expect(watch.tick().isEmpty && watch.tick().isEmpty)
        #expect(watch.tick().map(\.name) == ["slow"])
        watch.end(number)
        #expect(watch.tick().isEmpty && watch.all.isEmpty)
    }

    @Test("No test hangs as long as others begin and end")
    func eventsPreventHangs() {
        var watch = HangWatch()
        _ = watch.begin("hangs", limit: 3)
        for _ in 0..<100 {
            let other = watch.begin("other", limit: 3)
            #expect(watch.tick().isEmpty && watch.tick().isEmpty)
            watch.end(other)
            #expect(watch.tick().isEmpty && watch.tick().isEmpty)
        }
        let hanging = watch.tick()
        #expect(hanging.map(\.name) == ["hangs"] && hanging[0].age == 401)
    }

    @Test("Each test has its own limit")
    func limits() {
        var watch = HangWatch()
        _ = watch.begin("patient", limit: 5)
        _ = watch.begin("hangs", limit: 2)
        _ = watch.begin("hangs too", limit: 2)
        #expect(watch.tick().isEmpty)
        #expect(watch.tick().map(\.name) == ["hangs", "hangs too"])
    }

    @Test(
        "The environment sets the limit",
        arguments: [(nil, 300), ("300", 300), ("0", nil), ("-1", nil), ("soon", 300)] as [(String?, Int?)])
    func environment(_ asked: String?, _ limit: Int?) { #expect(TimeBound(asked).limit == limit) }

    @Test("The trait watches the tests of its suite")
    func traitWatchesTests() {
        guard TimeBound().limit != nil else { return }
        #expect(TestWatchdog.shared.names.contains { $0.hasPrefix("traitWatchesTests()") })
    }

    @Test("A test that blocks its thread is named and ends the process")
    func blockedTestIsNamed() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            // A child that keeps the pipe of the standard error open, which the parent reads to its end.
            _ = Child("/bin/sh", ["-c", "exec sleep 1000000"], input: 0)
            let watchdog = TestWatchdog(tick: 0.001)
            watchdog.end(watchdog.begin("isDone", limit: 5))
            _ = watchdog.begin("waitsForEver", limit: 20)
            _ = watchdog.begin("isPatient", limit: 1_000_000)
            while true { pause() }
        }
        let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(output.contains("hangs: waitsForEver, under way for"))
        #expect(output.contains("runs besides: isPatient") && !output.contains("isDone"))
    }
}
