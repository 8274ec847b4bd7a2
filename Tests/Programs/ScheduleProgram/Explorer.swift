#if DEBUG && !PLAIN_ATOMICS
    /// Plays a program in many orders.
    struct Explorer {
        let program: Program
        private let findings: Findings

        init(_ program: Program) {
            self.program = program
            findings = Findings(program.name)
        }

        /// What was played: how many orders, the choices of the longest, and whether none was left out.
        struct Result {
            var executions = 0
            var longest = 0
            /// How many releases were points.
            var releases = 0
            var isComplete = true
        }

        private struct Plan {
            var switches: [Switch] = []
            /// Of the choices before the last switch, which a repetition must meet again.
            var hash: UInt64 = 0
        }

        /// Every order with at most so many preemptions, those with fewer first.
        ///
        /// A thread is not preempted in front of an access to memory that no other thread changes in that execution:
        /// the same switch in front of its next access that others can see has the same effect.
        func exhaust(bound: Int, limit: Int) -> Result {
            var result = Result()
            warmUp()
            var plans = [[Plan]](repeating: [], count: bound + 1)
            plans[0] = [Plan()]
            for preemptions in 0...bound {
                while let plan = plans[preemptions].popLast() {
                    guard result.executions < limit else {
                        result.isComplete = false
                        return result
                    }
                    let choices = execute(plan.switches)
                    result.executions += 1
                    result.longest = max(result.longest, choices.count)
                    result.releases += choices.count { $0.address == Choice.placeOfReleases }
                    extend(plan, choices, preemptions, into: &plans)
                }
            }
            return result
        }

        /// The first execution initializes what is made once in a process, which the others do not meet.
        private func warmUp() {
            findings.replay = "replay '\(program.name)' -"
            for _ in 0..<2 { _ = program.execute(Switches([]), findings) }
        }

        private func execute(_ switches: [Switch]) -> [Choice] {
            findings.executions += 1
            let text = switches.isEmpty ? "-" : switches.map { "\($0.index):\($0.thread)" }.joined(separator: ",")
            findings.replay = "replay '\(program.name)' \(text)"
            return program.execute(Switches(switches), findings)
        }

        /// The plans with one switch more than the present one, behind its last.
        private func extend(_ plan: Plan, _ choices: [Choice], _ preemptions: Int, into plans: inout [[Plan]]) {
            let first = plan.switches.last.map { $0.index + 1 } ?? 0
            let mayPreempt = preemptions + 1 < plans.count
            let shared = mayPreempt ? sharedAddresses(choices) : []
            var hash = Hash()
            for index in choices.indices {
                let choice = choices[index]
                if index == first - 1, hash.value != plan.hash {
                    findings.found("The program is not deterministic: choice \(index) is another one.")
                }
                defer { hash.add(choice) }
                guard index >= first, !choice.others.isEmpty else { continue }
                let preempts = choice.currentCanGoOn
                if preempts {
                    guard mayPreempt, shared.contains(choice.address), !repeats(index, choices) else { continue }
                }
                for thread in choice.others {
                    plans[preemptions + (preempts ? 1 : 0)].append(
                        Plan(switches: plan.switches + [Switch(index: index, thread: thread)], hash: hash.value))
                }
            }
        }

        /// Whether the thread looks at a place again, and has done nothing else: it spins.
        private func repeats(_ index: Int, _ choices: [Choice]) -> Bool {
            guard index > 0, !choices[index].changes else { return false }
            let (before, now) = (choices[index - 1], choices[index])
            return before.current == now.current && before.chosen == now.current && before.address == now.address
                && !before.changes
        }

        /// Those that several threads have met, and one has changed.
        private func sharedAddresses(_ choices: [Choice]) -> Set<UInt> {
            var users: [UInt: (threads: UInt32, areChanged: Bool)] = [:]
            for choice in choices where choice.address != 0 {
                guard let current = choice.current else { continue }
                users[choice.address, default: (0, false)].threads |= 1 << UInt32(current)
                if choice.changes { users[choice.address]!.areChanged = true }
            }
            let shared = users.filter { $0.value.areChanged && $0.value.threads.nonzeroBitCount > 1 }.keys
            // Another thread may release the same object without a lock, where there is no point.
            return Set(shared).union([Choice.placeOfReleases])
        }

        /// How often all waits end as by a signal, in each random order.
        nonisolated(unsafe) static var interruptions = 0

        /// Orders by priorities, one for each seed.
        func playRandomly(seeds: Range<UInt64>, depth: Int) -> Result {
            var result = Result()
            warmUp()
            let length = program.execute(Switches([]), findings).count
            for seed in seeds {
                findings.executions += 1
                findings.replay = "random '\(program.name)' \(seed) 1 \(depth)"
                let choices = program.execute(
                    Priorities(seed: seed, length: length, depth: depth, interruptions: Self.interruptions), findings)
                result.executions += 1
                result.longest = max(result.longest, choices.count)
            }
            return result
        }

        /// One order, whose switches it prints.
        func replay(_ switches: [Switch]) {
            warmUp()
            let choices = execute(switches)
            for choice in choices where choice.chosen != choice.current {
                print("thread \(choice.current.map(String.init) ?? "-") -> \(choice.chosen)")
            }
        }
    }

    /// FNV-1a, of who could go on.
    private struct Hash {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325

        mutating func add(_ choice: Choice) {
            add(UInt64(choice.enabled.bits))
            add(UInt64(choice.chosen))
            add(choice.changes ? 1 : 0)
        }

        private mutating func add(_ part: UInt64) { value = (value ^ part) &* 0x100_0000_01B3 }
    }
#endif
