/// A timeline as a picture that explains itself.
struct TimelinePicture {
    private let timeline: Timeline
    private let scale: TimeScale
    private let source: String
    private var svg = SVG()

    /// - Parameter source: Where the events come from.
    static func draw(_ timeline: Timeline, _ scale: TimeScale, source: String) -> String {
        var picture = TimelinePicture(timeline, scale, source)
        picture.drawAll()
        return picture.svg.document(
            width: picture.width, height: Layout.lanesBottom + 182, title: "Throttle and debounce, side by side",
            style: Style.sheet)
    }

    private init(_ timeline: Timeline, _ scale: TimeScale, _ source: String) {
        self.timeline = timeline
        self.scale = scale
        self.source = source
    }

    private enum Layout {
        static let left = 216.0
        static let right = 84.0
        static let lanesTop = 96.0
        static let laneHeight = 58.0
        static var lanesBottom: Double { lanesTop + laneHeight * Double(Lane.allCases.count) }

        /// Below a lane's top: its calls, and its actions.
        static let ticks = 9.0...20.0
        static let marks = 40.0
        static let band = 10.0
    }

    /// Long times get more room, up to where text in a page would become too small.
    private var plotWidth: Double { min(1500, max(700, scale.length / .seconds(1) * 80)) }
    private var width: Double { Layout.left + plotWidth + Layout.right }

    private func x(_ time: Duration) -> Double { Layout.left + scale.position(of: time) * plotWidth }

    /// Half the size of an action's mark: small enough to tell actions an interval apart from each other.
    private var radius: Double {
        min(5.5, max(1.6, timeline.interval / scale.length * plotWidth * 0.42))
    }

    private mutating func drawAll() {
        svg.add("rect", ["class": "paper", "width": "100%", "height": "100%"])
        drawHeading()
        drawAxis()
        for (index, lane) in Lane.allCases.enumerated() {
            draw(lane, top: Layout.lanesTop + Layout.laneHeight * Double(index))
        }
        drawLegend(top: Layout.lanesBottom + 64)
    }

    private mutating func drawHeading() {
        let interval = timeline.interval.withUnit
        svg.add("text", ["class": "title", "x": 24.0, "y": 38.0], text: "Throttle and debounce, side by side")
        svg.add(
            "text", ["class": "note", "x": 24.0, "y": 60.0],
            text: "The same \(timeline.callCount.counted("call")) to seven limiters; interval \(interval). \(source)")
        svg.add(
            "text", ["class": "head", "x": width - 24, "y": Layout.lanesTop - 12, "text-anchor": "end"], text: "actions"
        )
    }

    // MARK: The axis

    private mutating func drawAxis() {
        let bottom = Layout.lanesBottom
        for tick in scale.ticks(atMost: Int(plotWidth / 70)) {
            let x = x(tick)
            svg.add("path", ["class": "grid", "d": SVG.line((x, Layout.lanesTop), (x, bottom + 5))])
            svg.add("text", ["class": "tick", "x": x, "y": bottom + 20], text: tick.inSeconds)
        }
        svg.add("path", ["class": "axis", "d": "M\(Layout.left) \(bottom)h\(plotWidth)"])
        svg.add("text", ["class": "tick", "x": Layout.left + plotWidth / 2, "y": bottom + 38], text: "time in seconds")
    }

    // MARK: A lane

    private mutating func draw(_ lane: Lane, top: Double) {
        let count = timeline.actionCounts[lane] ?? 0
        svg.beginGroup(["class": lane.family.name], title: "\(lane.name): \(count.counted("action"))")
        defer { svg.endGroup() }
        svg.add("path", ["class": "rule", "d": "M24 \(top)H\(width - 24)"])
        svg.add("text", ["class": "name", "x": 24.0, "y": top + 25], text: lane.name)
        svg.add("text", ["class": "note", "x": 24.0, "y": top + 43], text: lane.explanation(timeline.interval))
        svg.add("text", ["class": "count", "x": width - 24, "y": top + 34, "text-anchor": "end"], text: "\(count)")
        drawWindows(of: lane, top: top)
        drawCalls(of: lane, top: top)
        for action in timeline.actions(of: lane) { drawMark(lane.family, at: x(action.time), top + Layout.marks) }
    }

    private mutating func drawWindows(of lane: Lane, top: Double) {
        for window in timeline.windows(of: lane, now: scale.end) where window.upperBound > scale.start {
            let left = x(max(scale.start, window.lowerBound))
            // A gap separates a window from one that ends where it starts.
            let width = max(0.6, x(min(scale.end, window.upperBound)) - left - 0.8)
            let y = top + Layout.marks - Layout.band
            svg.add(
                "rect",
                [
                    "class": "band", "x": left, "y": y, "width": width, "height": Layout.band * 2,
                    "rx": min(3, width / 2),
                ])
        }
    }

    /// A tick for each call: dark with a line to the action on it, or pale when no action gets it. A path for each
    /// kind keeps the file small.
    private mutating func drawCalls(of lane: Lane, top: Double) {
        let actions = timeline.actions(of: lane)
        let delivered = Set(actions.map(\.call.value))
        let (first, last) = (top + Layout.ticks.lowerBound, top + Layout.ticks.upperBound)
        func ticks(_ calls: [Call]) -> String {
            calls.map { SVG.line((x($0.time), first), (x($0.time), last)) }.joined()
        }
        let calls = Dictionary(grouping: timeline.calls) { delivered.contains($0.value) }
        if let lost = calls[false] { svg.add("path", ["class": "lost", "d": ticks(lost)]) }
        let lines = actions.map {
            SVG.line((x($0.call.time), last), (x($0.time), top + Layout.marks))
        }
        if !lines.isEmpty { svg.add("path", ["class": "line", "d": lines.joined()]) }
        if let delivered = calls[true] { svg.add("path", ["class": "call", "d": ticks(delivered)]) }
    }

    private mutating func drawMark(_ family: Lane.Family, at x: Double, _ y: Double) {
        switch family {
        case .unlimited: svg.add("circle", ["class": "mark", "cx": x, "cy": y, "r": min(radius, 2.5)])
        case .throttle: svg.add("circle", ["class": "mark", "cx": x, "cy": y, "r": radius])
        case .debounce:
            let r = radius * 1.25
            svg.add("path", ["class": "mark", "d": SVG.diamond(x, y, r)])
        }
    }

    // MARK: The legend

    private mutating func drawLegend(top: Double) {
        svg.add("path", ["class": "rule", "d": "M24 \(top - 14)H\(width - 24)"])
        let columns = [24.0, 344.0, 664.0]
        svg.add("path", ["class": "call", "d": "M\(columns[0] + 6) \(top + 5)v11"])
        label("a call that an action gets", columns[0], top)
        svg.add("path", ["class": "lost", "d": "M\(columns[1] + 6) \(top + 5)v11"])
        label("a call that no action gets", columns[1], top)
        svg.add("path", ["class": "line", "d": "M\(columns[2]) \(top + 5)l14 11"])
        label("from a call to the action on it", columns[2], top)

        let second = top + 26
        sample(.throttle, columns[0], second)
        label("a throttle acts", columns[0], second)
        sample(.debounce, columns[1], second)
        label("a debounce acts", columns[1], second)
        for (family, x) in [(Lane.Family.throttle, columns[2] - 3), (.debounce, columns[2] + 9)] {
            svg.beginGroup(["class": family.name], title: "window")
            svg.add("rect", ["class": "band", "x": x, "y": second + 3, "width": 10.0, "height": 15.0, "rx": 2.0])
            svg.endGroup()
        }
        label("it holds calls back", columns[2] + 8, second)
        let notes = [
            "Throttle acts at most once in an interval, however long the calls keep coming. "
                + "Debounce acts once for a burst.",
            "Leading acts on the first call at once; trailing waits, and acts on the last. "
                + "What no action gets is dropped.",
        ]
        for (index, note) in notes.enumerated() {
            svg.add("text", ["class": "text", "x": 24.0, "y": top + 74 + 20 * Double(index)], text: note)
        }
    }

    private mutating func sample(_ family: Lane.Family, _ x: Double, _ y: Double) {
        svg.beginGroup(["class": family.name], title: family.name)
        switch family {
        case .debounce: svg.add("path", ["class": "mark", "d": SVG.diamond(x + 6, y + 10.5, 7)])
        default: svg.add("circle", ["class": "mark", "cx": x + 6, "cy": y + 10.5, "r": 5.5])
        }
        svg.endGroup()
    }

    private mutating func label(_ text: String, _ x: Double, _ y: Double) {
        svg.add("text", ["class": "text", "x": x + 24, "y": y + 15], text: text)
    }

    // MARK: Colours

    /// Colours of Okabe and Ito, which are distinguishable for the colour-blind too; the marks also differ in form.
    private enum Style {
        static let sheet = """
            text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, \
            sans-serif; fill: #24292f }
            .paper { fill: #ffffff }
            .title { font-size: 21px; font-weight: 600 }
            .name { font-size: 15px; font-weight: 600 }
            .note, .tick, .head { font-size: 14px; fill: #57606a }
            .text { font-size: 14px }
            .count { font-size: 15px; font-weight: 600 }
            .tick { text-anchor: middle }
            .grid { stroke: #eaeef2; fill: none }
            .rule { stroke: #d8dee4; fill: none }
            .axis { stroke: #57606a; fill: none }
            .call { stroke: #24292f; stroke-width: 1.5; fill: none }
            .lost { stroke: #c3cad2; stroke-width: 1.2; fill: none }
            .line { stroke: #8c959f; stroke-width: 0.9; fill: none }
            .unlimited .mark { fill: #57606a }
            .throttle .mark { fill: #0072b2 }
            .throttle .band { fill: #56b4e9; fill-opacity: 0.32 }
            .debounce .mark { fill: #d55e00 }
            .debounce .band { fill: #e69f00; fill-opacity: 0.30 }
            """
    }
}

extension Lane.Family {
    fileprivate var name: String {
        switch self {
        case .unlimited: "unlimited"
        case .throttle: "throttle"
        case .debounce: "debounce"
        }
    }
}

extension Lane {
    /// A few words below the name.
    fileprivate func explanation(_ interval: Duration) -> String {
        switch self {
        case .everyCall: "no limiter"
        case .throttleLeading: "at once, then not again"
        case .throttleTrailing: "each interval's last call"
        case .throttleBoth: "at once, and the last call"
        case .debounceTrailing: "when calls have stopped"
        case .debounceLeading: "the first call of a burst"
        case .debounceMaxWait: "after a pause, or \((interval * Lane.intervalsInMaxWait).withUnit)"
        }
    }
}
