#if DEBUG && !PLAIN_ATOMICS
    import TestSupport

    /// Who goes on at each choice.
    protocol Order {
        mutating func pick(_ choice: Choice, at index: Int) -> Int

        /// Whether every wait in the kernel ends at this choice, as by a signal.
        func interruptsWaits(at index: Int) -> Bool
    }

    extension Order {
        func interruptsWaits(at index: Int) -> Bool { false }
    }

    /// At a choice, another thread than the usual one goes on.
    struct Switch: Equatable {
        let index: Int
        let thread: Int
    }

    /// The threads run as they do without a switch, but for these.
    struct Switches: Order {
        private let switches: [Switch]
        private var next = 0

        init(_ switches: [Switch]) { self.switches = switches }

        mutating func pick(_ choice: Choice, at index: Int) -> Int {
            guard next < switches.count, switches[next].index == index else { return choice.usual }
            next += 1
            let thread = switches[next - 1].thread
            return choice.enabled.contains(thread) ? thread : choice.usual
        }
    }

    /// Each thread has a priority, and the one with the highest goes on. At a few choices it becomes the lowest of all
    /// ("probabilistic concurrency testing": a bug that needs d such places is found with a probability that is known).
    struct Priorities: Order {
        private var priorities: [Int] = []
        private var places: Set<Int> = []
        private var lowest = 0
        private var interruptions: Set<Int> = []

        /// - Parameters:
        ///   - length: How many choices there are, about.
        ///   - depth: How many places, and one.
        ///   - interruptions: How often all waits end.
        init(seed: UInt64, length: Int, depth: Int, interruptions count: Int) {
            var random = SplitMix(seed)
            for _ in 0..<ThreadSet.capacity { priorities.append(1 + random.below(1_000_000)) }
            for _ in 1..<depth { places.insert(random.below(length)) }
            for _ in 0..<count { interruptions.insert(random.below(length)) }
        }

        func interruptsWaits(at index: Int) -> Bool { interruptions.contains(index) }

        mutating func pick(_ choice: Choice, at index: Int) -> Int {
            if places.contains(index), let current = choice.current {
                lowest -= 1
                priorities[current] = lowest
            }
            var highest = choice.enabled.first!
            for thread in choice.enabled where priorities[thread] > priorities[highest] { highest = thread }
            return highest
        }
    }
#endif
