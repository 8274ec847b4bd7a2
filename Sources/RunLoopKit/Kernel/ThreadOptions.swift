internal import CLinux

extension System {
    /// Names the calling thread. The kernel keeps 15 bytes.
    static func nameThread(_ name: String) {
        var name = name
        name.withUTF8 { text in
            var count = min(text.count, 15)
            // A cut inside a character would leave invalid text.
            while count < text.count, UTF8.isContinuation(text[count]) { count -= 1 }
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { bytes in
                for index in 0..<count { bytes[index] = CChar(bitPattern: text[index]) }
                bytes[count] = 0
                _ = pthread_setname_np(pthread_self(), bytes.baseAddress!)
            }
        }
    }

    /// Sets the calling thread's nice value.
    static func setNice(_ value: Int32) -> Bool { clinux_set_nice(value) == 0 }

    /// Sets the calling thread's scheduling policy; the priority is 0 for policies that have none.
    static func setScheduling(_ policy: SchedulingPolicy, priority: Int32) -> Bool {
        clinux_set_scheduling(policy.rawValue, priority) == 0
    }

    /// The kernel's numbers, the same on every architecture.
    enum SchedulingPolicy: Int32 { case other = 0, fifo = 1, roundRobin = 2, batch = 3, idle = 5 }

    /// Restricts the calling thread to the CPUs whose bits are set. The kernel ignores CPUs that it does not have.
    static func setAffinity(_ mask: [UInt]) -> Bool {
        clinux_set_affinity(mask, UInt(mask.count * MemoryLayout<UInt>.size)) == 0
    }

    /// The CPUs that the calling thread may run on, as bits in `words` words.
    static func affinity(words: Int) throws(LoopError) -> [UInt] {
        var mask = [UInt](repeating: 0, count: words)
        guard clinux_get_affinity(0, &mask, UInt(words * MemoryLayout<UInt>.size)) >= 0 else {
            throw LoopError(call: "sched_getaffinity")
        }
        return mask
    }

    /// Whether the calling thread and others may run on different CPUs, as far as the CPUs of the initial thread, which
    /// others inherit, can tell.
    static var hasSeveralCPUs: Bool {
        // A bit for each CPU: a kernel is configured for 8192 at most.
        withUnsafeTemporaryAllocation(of: UInt.self, capacity: 2 * 8192 / UInt.bitWidth) { masks in
            masks.initialize(repeating: 0)
            let words = masks.count / 2
            let bytes = UInt(words * MemoryLayout<UInt>.size)
            guard clinux_get_affinity(0, masks.baseAddress, bytes) >= 0,
                clinux_get_affinity(getpid(), masks.baseAddress! + words, bytes) >= 0
            else { return false }
            return (0..<words).reduce(0) { $0 + (masks[$1] | masks[words + $1]).nonzeroBitCount } > 1
        }
    }

    /// Tells the CPU that the calling thread repeatedly reads a word that another thread is to write.
    @inline(__always)
    static func relax() { clinux_relax() }

    /// Sets by how many nanoseconds the kernel may delay the calling thread's waits. Zero is the process's default.
    static func setTimerSlack(_ nanoseconds: Int64) -> Bool { clinux_set_timer_slack(UInt(clamping: nanoseconds)) == 0 }
}
