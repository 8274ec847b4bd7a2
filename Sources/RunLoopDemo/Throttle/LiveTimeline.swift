import RunLoopKit

/// Key presses through the seven limiters, drawn as they come, on the main loop in real time.
struct LiveTimeline {
    /// How often the picture moves.
    private static let frameInterval = Duration.milliseconds(50)

    private let interval: Duration
    private let length: Duration
    private let stage: Stage
    private let lanes: LoopBound<LanePlayer>

    /// - Parameter length: How much of the past is seen.
    /// - Throws: `LoopError` when descriptors or a thread cannot be had.
    init(interval: Duration, length: Duration) throws {
        self.interval = interval
        self.length = length
        stage = try Stage()
        lanes = LoopBound(LanePlayer(interval: interval, on: .main), on: .main)
    }

    /// Runs until the user ends it. Returns the lines to show afterwards.
    func run() throws -> [String] {
        handleSignal(SIGHUP) { _ in Interruption.request(.hangUp) }
        let reader = try InputReader(STDIN_FILENO, on: .main, handler: handle)
        let frames = Loop.Timer(every: LiveTimeline.frameInterval) { _ in draw() }
        frames.label = "frames"
        Loop.main.add(frames, in: .default)
        RawTerminal.enter()
        draw()
        stage.wait()
        reader.stop()
        frames.invalidate()
        RawTerminal.leave()
        let calls = lanes.value.recorded.callCount.counted("key press", "key presses")
        return ["\(calls); the last \(length.withUnit):", ""] + timelineLines()
    }

    private func handle(_ input: InputReader.Input) {
        guard case .bytes(let bytes) = input else { return stage.proceed() }
        let keys = KeyPresses(bytes)
        for _ in 0..<keys.count { lanes.value.call() }
        if keys.wantEnd { stage.proceed() } else { draw() }
    }

    // MARK: Drawing

    private func draw() {
        let heading = "Press keys: each is a call. Hold one down, or type in bursts. q ends it."
        let lines = [styled(heading), ""] + timelineLines() + [""] + TimelineText.legend(interval)
        // Each line is overwritten, and only its rest cleared, so that nothing flickers.
        let shown = lines.prefix(StandardOutput.size?.rows ?? lines.count).joined(separator: "\u{1B}[K\r\n")
        StandardOutput.write("\u{1B}[H\(shown)\u{1B}[K\u{1B}[J")
    }

    private func timelineLines() -> [String] {
        let now = lanes.value.now
        lanes.value.forget(before: now - length - interval * Lane.intervalsInMaxWait)
        // Without wrapping, a character after the last column would be drawn over the one in it.
        let width = max(TimelineText.smallestWidth, StandardOutput.width - 1)
        let text = TimelineText(
            timeline: lanes.value.recorded, scale: TimeScale(start: now - length, end: now), now: now, width: width,
            usesColour: TextStyle.isWanted)
        return text.lines
    }

    private func styled(_ text: String) -> String { TextStyle.isWanted ? TextStyle.bold.applied(to: text) : text }
}

/// The key presses in a terminal's input.
struct KeyPresses {
    /// The number of keys, except those that end the program.
    private(set) var count = 0

    /// Whether `q` or Ctrl-D was among them.
    private(set) var wantEnd = false

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !wantEnd, let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "q"), UInt8(ascii: "Q"), 4: wantEnd = true
            // The later bytes of a character.
            case 0x80...0xBF: break
            case 0x1B:
                count += 1
                KeyPresses.dropEscapeSequence(&rest)
            default: count += 1
            }
        }
    }

    /// Arrows and their like send an escape character, a bracket or an O, and more up to a letter or a tilde.
    private static func dropEscapeSequence(_ rest: inout ArraySlice<UInt8>) {
        guard let first = rest.first, "[O".utf8.contains(first) else { return }
        rest.removeFirst()
        while let byte = rest.popFirst(), !(0x40...0x7E).contains(byte) {}
    }
}
