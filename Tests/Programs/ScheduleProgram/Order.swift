#if DEBUG && !PLAIN_ATOMICS
    /// Who goes on at each choice.
    protocol Order {
        mutating func pick(_ choice: Choice, at index: Int) -> Int
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
            return choice.enabled & (1 << UInt32(thread)) != 0 ? thread : choice.usual
        }
    }

    /// Each thread has a priority, and the one with the highest goes on. At a few choices it becomes the lowest of all
    /// ("probabilistic concurrency testing": a bug that needs d such places is found with a probability that is known).
    struct Priorities: Order {
        private var random: UInt64
        private var priorities: [Int]
        private var places: Set<Int> = []
        private var lowest = 0

        /// - Parameters:
        ///   - length: How many choices there are, about.
        ///   - depth: How many places, and one.
        init(seed: UInt64, length: Int, depth: Int) {
            random = seed
            priorities = []
            for _ in 0..<32 { priorities.append(1 + Int(next() % 1_000_000)) }
            for _ in 1..<depth { places.insert(Int(next() % UInt64(max(1, length)))) }
        }

        private mutating func next() -> UInt64 {
            random &+= 0x9E37_79B9_7F4A_7C15
            var bits = random
            bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            return bits ^ (bits >> 31)
        }

        mutating func pick(_ choice: Choice, at index: Int) -> Int {
            if places.contains(index), let current = choice.current {
                lowest -= 1
                priorities[current] = lowest
            }
            let ready = (0..<32).filter { choice.enabled & (1 << UInt32($0)) != 0 }
            return ready.max { priorities[$0] < priorities[$1] }!
        }
    }
#endif
