import RunLoopKit

/// `RunLoopDemo throttle`: the same calls to seven limiters, as a timeline.
struct ThrottleCommand: Command {
    private static let intervals: ClosedRange<Duration> = .microseconds(1) ... .seconds(3600)
    private static let lengths: ClosedRange<Duration> = .milliseconds(100) ... .seconds(60)

    let name = "throttle"
    let summary = "Shows how throttle and debounce limit the same calls, side by side."
    let discussion = """
        Seven limiters receive the same calls, which come in bursts with pauses between them, as those of a moving
        mouse or a typing person do. The first one limits nothing; a throttle acts on its leading edge, on its
        trailing edge, on both; a debounce acts on its trailing edge, on its leading edge, and with a maxWait of three
        intervals. They are the library's own Throttle and Debounce, on a loop in virtual time: the command takes no
        time, and its output depends on the seed alone. Each limiter has a line, on which time goes to the right.

        With '--svg' the command also draws a picture; with '--svg -' it writes only the picture, to standard output.
        With '--live' your key presses are the calls, on a loop in real time, and '--seconds' is the length of the
        time that is shown. 'q', Ctrl-C or Ctrl-D ends it.

        With '--format json' each line is an object, in the order of time: {"t":81000,"event":"call","value":1} is the
        first call, at 81000 ns, of all seven; {"lane":"throttle leading","t":81000,"event":"action","value":1} says
        that this limiter acted, and on which call. The lanes:
        \(Lane.allCases.map(\.name).joined(separator: ", ")).
        """
    let options: [Option] = [
        .value("interval", "TIME", "The interval of the limiters, such as 250us, 100ms, 1.5s. Default: 100ms."),
        .value("seconds", "0.1...60", "For how long calls come or, with --live, are shown. Default: 3."),
        .value("seed", "0...", "The seed of the random calls. Default: 1."),
        .value("svg", "FILE|-", "Also draws a picture."),
        .flag("live", "Takes your key presses as calls. Needs a terminal."),
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
        if let picture { StandardOutput.write("\nWrote the picture to \(picture.debugDescription.printable).\n") }
    }
}
