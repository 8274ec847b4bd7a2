public import Foundation
public import RunLoopKit

extension Loop.Instant {
    /// A date as an instant of `Loop.TimeBase.wallClock`, in whole nanoseconds since 1970, rounded down.
    ///
    /// Dates before the year 1678 are `distantPast`, those after 2261 `distantFuture`, and so is one that is not a
    /// number: a timer of it never fires.
    public init(wallClock date: Date) {
        let nanoseconds = (date.timeIntervalSince1970 * 1e9).rounded(.down)
        self = nanoseconds <= -0x1p63 ? .distantPast : Int64(exactly: nanoseconds).map(Self.init) ?? .distantFuture
    }
}

extension Duration {
    /// A time interval of Foundation. More than about 292 years, either way, and infinity count as 292 years; what is
    /// not a number does, too: as a delay it never ends.
    public static func timeInterval(_ seconds: TimeInterval) -> Duration {
        let limit = 9.2e9
        return .seconds(seconds.isNaN ? limit : min(max(seconds, -limit), limit))
    }
}

extension Loop.Timer {
    /// Makes a timer that fires at a date on the wall clock, and then every `interval`. Foundation:
    /// `Timer(fire:interval:repeats:block:)`, which converts the date to a monotonic time once: this timer follows the
    /// clock when it is set.
    ///
    /// - A past date counts as now. For a repeating timer it names a grid, and the timer fires at the grid's next
    ///   instant, as `Loop.TimeBase.wallClock` says. Such a date may be ancient.
    /// - A date after the year 2261, or that is not a number, never comes.
    ///
    /// - Parameters:
    ///   - date: The first fire time.
    ///   - interval: The seconds between two calls. Zero or less means a single call.
    ///   - repeats: Whether the timer repeats.
    ///   - label: What diagnostics call the timer.
    ///   - file: The source file that makes the timer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread.
    public convenience init(
        fire date: Date, interval: TimeInterval = 0, repeats: Bool = false, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, handler: @escaping @Sendable (_ firing: Firing) -> Void
    ) {
        self.init(
            at: Loop.Instant(wallClock: date), repeating: repeats ? .timeInterval(interval) : nil,
            timeBase: .wallClock, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a timer that fires `seconds` after it is added to a loop, once or repeatedly, on the monotonic clock.
    /// Foundation: `Timer(timeInterval:repeats:block:)`, whose time begins when the timer is made.
    ///
    /// - Parameters:
    ///   - seconds: The delay, and the interval. Zero or less means a single call, at once. Infinity, or what is not a
    ///     number, is 292 years.
    ///   - repeats: Whether the timer repeats.
    ///   - label: What diagnostics call the timer.
    ///   - file: The source file that makes the timer, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread.
    public convenience init(
        timeInterval seconds: TimeInterval, repeats: Bool, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, handler: @escaping @Sendable (_ firing: Firing) -> Void
    ) {
        let interval = Duration.timeInterval(seconds)
        self.init(
            after: interval, repeating: repeats ? interval : nil, label: label, file: file, line: line,
            handler: handler)
    }

    /// Makes a timer for a date, as `init(fire:interval:repeats:label:file:line:handler:)` does, whose handler belongs
    /// to the main actor. For `Loop.main`, or a loop in virtual time.
    public convenience init(
        fire date: Date, interval: TimeInterval = 0, repeats: Bool = false, isolation mainActor: MainActor,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor @Sendable (_ firing: Firing) -> Void
    ) {
        self.init(
            at: Loop.Instant(wallClock: date), repeating: repeats ? .timeInterval(interval) : nil,
            timeBase: .wallClock, isolation: mainActor, label: label, file: file, line: line, handler: handler)
    }

    /// Makes a timer as `init(timeInterval:repeats:label:file:line:handler:)` does, whose handler belongs to the main
    /// actor. For `Loop.main`, or a loop in virtual time.
    public convenience init(
        timeInterval seconds: TimeInterval, repeats: Bool, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor @Sendable (_ firing: Firing) -> Void
    ) {
        let interval = Duration.timeInterval(seconds)
        self.init(
            after: interval, repeating: repeats ? interval : nil, isolation: mainActor, label: label, file: file,
            line: line, handler: handler)
    }
}
