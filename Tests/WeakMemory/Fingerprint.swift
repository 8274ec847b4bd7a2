/// Two hash values of a state, by which the explorer knows what it has visited. Of a million states, two have the same
/// with a probability of 10⁻²⁷.
struct Fingerprint: Hashable {
    private var first: UInt64 = 0xCBF2_9CE4_8422_2325
    private var second: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(of state: State) {
        add(state.memory)
        for history in state.histories {
            add(history.count)
            for result in history { add(result) }
        }
        for stage in state.stages {
            switch stage {
            case .runs: add(-1)
            case .ended: add(-2)
            case .sleeps(let location): add(location.index)
            }
        }
    }

    private mutating func add(_ memory: Memory) {
        for messages in memory.messages {
            add(messages.count)
            for message in messages {
                add(message.value << 1 | (message.isAttached ? 1 : 0))
                add(message.view)
            }
        }
        for value in memory.values { add(value) }
        for thread in memory.views.indices {
            add(memory.views[thread])
            add(memory.acquirable[thread])
            add(memory.releasable[thread])
        }
        add(memory.sequential)
        add(memory.kernel)
    }

    private mutating func add(_ view: View) {
        add(view.low)
        add(view.high)
        add(view.plain)
    }

    private mutating func add(_ value: Int) { add(UInt64(bitPattern: Int64(value))) }

    private mutating func add(_ value: UInt64) {
        first = mixed(first ^ value)
        second = mixed(second &+ value &* 0xD6E8_FEB8_6659_FD93)
    }

    /// The finalizer of SplitMix64.
    private func mixed(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
