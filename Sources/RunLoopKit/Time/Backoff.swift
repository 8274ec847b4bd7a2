extension Loop {
    /// How long to wait before each new attempt of something that fails: longer each time, up to a maximum.
    ///
    /// ```swift
    /// var pauses = Loop.Backoff(from: .milliseconds(100), to: .seconds(10))
    /// print(pauses.next(), pauses.next(), pauses.next())  // 0.1 seconds 0.2 seconds 0.4 seconds
    /// pauses.reset()  // it has succeeded
    /// ```
    ///
    /// It waits for nothing itself: give the pause to a ``Loop/Timer``, or to a task's sleep. A
    /// ``Loop/SupervisedChild`` has one.
    ///
    /// With *jitter,* many clients of a server that fails do not come again at the same moment: each pause is shorter
    /// by a random part, and never longer than without.
    ///
    /// It is a value, for one thread at a time. systemd: `RestartSec`, `RestartSteps`, `RestartMaxDelaySec`; Go:
    /// `backoff.ExponentialBackOff`; gRPC: its connection backoff.
    public struct Backoff: Hashable, Sendable {
        /// The first pause.
        public let initial: Duration

        /// The longest pause.
        public let maximum: Duration

        /// What each pause is multiplied by for the next one.
        public let factor: Double

        /// The largest part of a pause that chance takes off: from 0 to 1.
        public let jitter: Double

        /// The next pause, before jitter, in nanoseconds.
        private var pause: Int64

        /// Makes a backoff at its first pause.
        ///
        /// - Parameters:
        ///   - initial: The first pause, rounded up to a whole nanosecond. A negative one counts as zero. If it is
        ///     zero, all are.
        ///   - maximum: The longest pause. One shorter than the first counts as that.
        ///   - factor: What each pause is multiplied by for the next one. Less than 1 counts as 1, which keeps them
        ///     equal.
        ///   - jitter: The largest part of a pause that chance takes off: 0 for none, 1 for all of it. Other values
        ///     count as the nearest of these.
        public init(
            from initial: Duration = .milliseconds(100), to maximum: Duration = .seconds(10), factor: Double = 2,
            jitter: Double = 0
        ) {
            pause = max(0, initial.wholeNanoseconds)
            self.initial = .nanoseconds(pause)
            self.maximum = .nanoseconds(max(pause, maximum.wholeNanoseconds))
            // Comparisons with what is no number are false.
            self.factor = factor > 1 ? factor : 1
            self.jitter = jitter > 0 ? min(jitter, 1) : 0
        }

        /// Returns the pause before the next attempt, and makes the one after it longer.
        ///
        /// Chance is the system's. For tests, give another generator: ``next(using:)``.
        public mutating func next() -> Duration {
            var generator = SystemRandomNumberGenerator()
            return next(using: &generator)
        }

        /// Returns the pause before the next attempt, and makes the one after it longer.
        ///
        /// - Parameter generator: Asked once, unless ``jitter`` is 0.
        public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
            let current = pause
            // A nanosecond longer at least, which a small factor would not make it.
            let least = factor > 1 && current > 0 ? current.addingSaturating(1) : current
            pause = min(max(Self.product(current, factor), least), maximum.wholeNanoseconds)
            if jitter == 0 { return .nanoseconds(current) }
            return .nanoseconds(Self.product(current, 1 - Double.random(in: 0...jitter, using: &generator)))
        }

        /// Begins again with the first pause: an attempt has succeeded.
        public mutating func reset() { pause = initial.wholeNanoseconds }

        private static func product(_ time: Int64, _ factor: Double) -> Int64 {
            if time == 0 { return 0 }
            let product = Double(time) * factor
            return product < 0x1p63 ? Int64(product) : .max
        }
    }
}
