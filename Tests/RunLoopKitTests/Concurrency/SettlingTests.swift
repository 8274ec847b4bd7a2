import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Virtual time that lets the main actor come to rest, where no thread runs `Loop.main`. `RunMainTests` has the other
/// case.
@Suite(.timeBound) struct SettlingTests {
    @MainActor private final class Field {
        private(set) var log: [String] = []
        func note(_ text: String, _ clock: VirtualClock) { log.append("\(clock.now.nanoseconds) \(text)") }
    }

    @Test("Each deadline on the way is settled before the time goes on")
    @MainActor func eachDeadline() async throws {
        let (clock, field) = (VirtualClock(.manual), Field())
        let thread = try LoopThread(clock: clock)
        for time in [3, 5, 5, 11] {
            thread.perform(after: .nanoseconds(time)) {
                Task { @MainActor in
                    field.note("timer \(time)", clock)
                    thread.perform { Task { @MainActor in field.note("after \(time)", clock) } }
                }
            }
        }
        await clock.advanceAndSettle(by: .nanoseconds(10))
        #expect(clock.now.nanoseconds == 10)
        let first = ["3 timer 3", "3 after 3", "5 timer 5", "5 timer 5", "5 after 5", "5 after 5"]
        #expect(field.log == first)
        await clock.advanceAndSettle(by: .nanoseconds(1))
        #expect(field.log == first + ["11 timer 11", "11 after 11"])
        thread.stop()
        try await thread.waitForEnd()
    }

    @Test("Zero, and less, let it rest", arguments: [0, -1, Int64.min])
    @MainActor func noTime(_ duration: Int64) async {
        let (clock, field) = (VirtualClock(.manual), Field())
        Task { field.note("task", clock) }
        await clock.advanceAndSettle(by: .nanoseconds(duration))
        #expect(field.log == ["0 task"])
    }
}
