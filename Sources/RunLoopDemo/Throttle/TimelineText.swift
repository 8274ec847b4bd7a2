/// A timeline for a terminal: lanes under each other, the time to the right.
struct TimelineText {
    let timeline: Timeline
    let scale: TimeScale
    /// The time up to which it is known.
    let now: Duration
    let width: Int
    let usesColour: Bool

    /// Lanes that are too narrow show nothing.
    static let smallestWidth = 60

    /// The axis, the lanes, and the counts beside them.
    var lines: [String] {
        axis
            + Lane.allCases.map { lane in
                let count = (timeline.actionCounts[lane] ?? 0).grouped.rightAligned(to: TimelineText.countWidth)
                return lane.name.padded(to: TimelineText.nameWidth) + row(lane) + styled(count, .bold)
            }
    }

    /// The meaning of the signs.
    static func legend(_ interval: Duration) -> [String] {
        let maxWait = (interval * Lane.intervalsInMaxWait).withUnit
        return [
            "▂▄█ calls, taller where there are more    ● ◆ an action",
            " 2  a digit instead of ● or ◆: several actions in one column (+: ten or more)",
            "─── holding back: after a leading action no other yet, before a trailing one",
            "    collecting calls, of which the last is acted on",
            "",
            "Throttle acts at most once in \(interval.withUnit), however long the calls keep coming.",
            "Debounce acts once for a burst: on its first call, or when there was none for",
            "\(interval.withUnit); with maxWait, here \(maxWait), a burst without end is acted on, too.",
        ]
    }

    private static let nameWidth = 19
    private static let countWidth = 9

    private var columns: Int { max(1, width - TimelineText.nameWidth - TimelineText.countWidth) }

    private func column(of time: Duration) -> Int { Int((scale.position(of: time) * Double(columns)).rounded(.down)) }

    // MARK: The axis

    private var axis: [String] {
        var labels = Array(repeating: Character(" "), count: columns)
        var line = Array(repeating: Character("─"), count: columns)
        for tick in scale.ticks(atMost: columns / 8) where column(of: tick) < columns {
            let place = column(of: tick)
            line[place] = "┴"
            let label = Array("\(tick.inSeconds) s")
            if place + label.count <= columns { labels.replaceSubrange(place..<place + label.count, with: label) }
        }
        let indentation = String(repeating: " ", count: TimelineText.nameWidth)
        return [
            styled(indentation + String(labels) + "actions".rightAligned(to: TimelineText.countWidth), .dim),
            styled(indentation + String(line), .dim),
        ]
    }

    // MARK: A lane

    fileprivate enum Cell: Equatable {
        case empty, window
        case mark(Character)
    }

    private func row(_ lane: Lane) -> String {
        var cells = Array(repeating: Cell.empty, count: columns)
        for window in timeline.windows(of: lane, now: now) {
            let end = min(columns, column(of: window.upperBound))
            let start = max(0, column(of: window.lowerBound))
            for place in start..<max(start, end) { cells[place] = .window }
        }
        for (place, count) in counts(of: lane) where cells.indices.contains(place) {
            cells[place] = .mark(lane.mark(count))
        }
        return text(of: cells, lane)
    }

    private func counts(of lane: Lane) -> [Int: Int] {
        timeline.actions(of: lane).reduce(into: [:]) { $0[column(of: $1.time), default: 0] += 1 }
    }

    /// Neighbours of one kind share their escape codes.
    private func text(of cells: [Cell], _ lane: Lane) -> String {
        var text = ""
        var run = ""
        for (place, cell) in cells.enumerated() {
            run.append(cell.character)
            guard place + 1 == cells.count || cells[place + 1].isMark != cell.isMark else { continue }
            text += cell.isMark ? styled(run, lane.style) : styled(run, .dim)
            run = ""
        }
        return text
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}

extension TimelineText.Cell {
    fileprivate var isMark: Bool { if case .mark = self { true } else { false } }

    fileprivate var character: Character {
        switch self {
        case .empty: " "
        case .window: "─"
        case .mark(let character): character
        }
    }
}

extension Lane {
    /// - Parameter count: How many actions share a column.
    fileprivate func mark(_ count: Int) -> Character {
        switch family {
        case .unlimited: Array("▂▃▄▅▆▇█")[min(count, 7) - 1]
        case .throttle, .debounce:
            if count == 1 { family == .throttle ? "●" : "◆" } else { count < 10 ? Character("\(count)") : "+" }
        }
    }

    fileprivate var style: TextStyle {
        switch family {
        case .unlimited: .green
        case .throttle: .cyan
        case .debounce: .yellow
        }
    }
}
