/// A stretch of time on an axis.
struct TimeScale {
    let start: Duration
    let end: Duration

    var length: Duration { end - start }

    /// Where a time is: 0 at the start, 1 at the end.
    func position(of time: Duration) -> Double { (time - start) / length }

    /// Round times within it, the same distance apart: at most `count` of them in its length.
    func ticks(atMost count: Int) -> [Duration] {
        let step = TimeScale.steps.first { $0 * count >= length } ?? length
        var tick = step * max(0, Int((start / step).rounded(.up)))
        var ticks: [Duration] = []
        while tick <= end {
            ticks.append(tick)
            tick += step
        }
        return ticks
    }

    /// 1, 2 and 5 times the powers of ten, from 1 ms to 1000 s.
    private static let steps: [Duration] = (0..<7).flatMap { power in
        let unit = Duration.milliseconds((0..<power).reduce(Int64(1)) { product, _ in product * 10 })
        return [unit, unit * 2, unit * 5]
    }
}
