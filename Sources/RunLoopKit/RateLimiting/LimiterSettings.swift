/// The arguments that every limiter is made with.
struct LimiterSettings {
    let rules: RateLimitRules
    let loop: Loop
    let modes: Set<Loop.Mode>
    let whenReleased: RateLimitRelease
    /// The limiter's label, or where it was made.
    let place: Place

    init(
        _ kind: RateLimitState.Kind, _ interval: Duration, _ edges: RateLimitEdges, _ loop: Loop,
        _ modes: Set<Loop.Mode>, _ whenReleased: RateLimitRelease, _ place: Place
    ) {
        rules = RateLimitRules(kind, interval: interval.wholeNanoseconds, edges: edges)
        self.loop = loop
        self.modes = modes
        self.whenReleased = whenReleased
        self.place = place
    }
}
