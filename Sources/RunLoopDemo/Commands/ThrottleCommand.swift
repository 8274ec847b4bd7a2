import RunLoopKit

/// `RunLoopDemo throttle`: the same calls to seven limiters, as a timeline.
struct ThrottleCommand: Command {
    private static let intervals: ClosedRange<Duration> = .microseconds(1) ... .seconds(3600)
    private static let lengths: ClosedRange<Duration> = .milliseconds(100) ... .seconds(60)

    let name = "throttle"
    let summary = "Shows what throttle and debounce make of the same events, side by side."
    let discussion = """
        Events such as a person causes who moves a mouse or types, in bursts with pauses between them, call seven
        limiters: none at all; a throttle that acts on its leading edge, its trailing one, both; a debounce that acts
        on its trailing edge, its leading one, and with a maxWait of three intervals. They are the library's own
        Throttle and Debounce, on a loop in virtual time: it is over at once, and the same for the same seed. What each
        did is drawn below the other, the time going to the right.

        With '--svg' it is drawn as a picture too, or, to standard output, instead. With '--live' your key presses are
        the events, on a loop in real time; '--seconds' is how much of it is seen. 'q', Ctrl-C or Ctrl-D ends it.

        With '--format json' each line is an object, in the order of time: {"t":81000,"event":"call","value":1} is the
        first call, at 81000 ns, of all seven; {"lane":"throttle leading","t":81000,"event":"action","value":1} says
        that this limiter acted, and on which call. The lanes:
        \(Lane.allCases.map(\.name).joined(separator: ", ")).
        """
    let options: [Option] = [
        .value("interval", "TIME", "How long they limit, such as 250us, 100ms, 1.5s. Default: 100ms."),
        .value("seconds", "0.1...60", "How long the events come, or how much is seen. Default: 3."),
        .value("seed", "0...", "Another number, other events. Default: 1."),
        .value("svg", "FILE|-", "Draws a picture, too."),
        .flag("live", "Takes your key presses as events. On a terminal only."),
        .format,
    ]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let interval = try arguments.duration("interval", in: ThrottleCommand.intervals) ?? .milliseconds(100)
        let length = try arguments.seconds("seconds", in: ThrottleCommand.lengths) ?? .seconds(3)
        let seed = try arguments.number("seed", default: 1, in: 0...Int.max)
        let picture = arguments.value(of: "svg")
        guard picture != "-" || format == .text else {
            throw UsageError("--svg cannot be \"-\" with --format json: both would be standard output")
        }
        if arguments.hasFlag("live") {
            for other in ["seed", "svg", "format"] where arguments.value(of: other) != nil {
                throw UsageError("--live does not go with --\(other): it draws your key presses on the terminal")
            }
            return try live(interval, length)
        }
        let times = EventStream.times(seed: UInt64(seed), until: ThrottleCommand.lastCall(length, interval))
        let timeline = try LanePlayer.rehearse(times, interval: interval)
        let scale = TimeScale(start: .zero, end: max(length, timeline.end))
        if let picture {
            let source = "Real limiters in virtual time; seed \(seed)."
            let code = writePicture(TimelinePicture.draw(timeline, scale, source: source), to: picture)
            if code != .success || picture == "-" { return code }
        }
        switch format {
        case .text: show(timeline, scale, seed: seed, picture)
        case .json: StandardOutput.write(TimelineJSON.lines(of: timeline))
        }
        return .success
    }

    /// Early enough for every action to be seen, unless the interval is too long for that.
    private static func lastCall(_ length: Duration, _ interval: Duration) -> Duration {
        max(length - interval, length / 2)
    }

    private func live(_ interval: Duration, _ length: Duration) throws -> ExitCode {
        guard RawTerminal.isPossible else {
            throw UsageError(
                "--live needs a terminal to read keys from and to draw on; without --live the events are made up")
        }
        let live = try LiveTimeline(interval: interval, length: length)
        StandardOutput.write(try live.run().joined(separator: "\n") + "\n")
        return .success
    }

    private func show(_ timeline: Timeline, _ scale: TimeScale, seed: Int, _ picture: String?) {
        let usesColour = TextStyle.isWanted
        let width = max(TimelineText.smallestWidth, StandardOutput.width)
        let text = TimelineText(
            timeline: timeline, scale: scale, now: scale.end, width: width, usesColour: usesColour)
        let calls = timeline.callCount.counted("call")
        let heading =
            "\(calls) to seven limiters, interval \(timeline.interval.withUnit), in virtual time (seed \(seed))"
        let lines =
            [usesColour ? TextStyle.bold.applied(to: heading) : heading, ""] + text.lines + [""]
            + TimelineText.legend(timeline.interval)
        StandardOutput.write(lines.joined(separator: "\n") + "\n")
        if let picture { StandardOutput.write("\nThe picture is in \(picture.debugDescription.printable).\n") }
    }
}
