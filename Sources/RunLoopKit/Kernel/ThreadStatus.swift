/// The status of a thread of this process, from `/proc`.
package struct ThreadStatus {
    let number: Int32
    let name: String

    /// A bit for each signal, the lowest for signal 1.
    let blockedSignals: UInt64

    func blocks(_ signal: Int32) -> Bool { blockedSignals >> UInt64(signal - 1) & 1 == 1 }

    /// All threads that are alive now; none without `/proc`. An initial thread that has ended is left out too, although
    /// its zombie stays until its process ends.
    static var all: [ThreadStatus] { System.threadNumbers.compactMap(ThreadStatus.init(number:)) }

    private init?(number: Int32) {
        guard let text = System.readProcFile("/proc/self/task/\(number)/status") else { return nil }
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        guard let state = fields["State:"]?.first, !"ZX".contains(state) else { return nil }
        guard let blocked = fields["SigBlk:"].flatMap({ UInt64($0, radix: 16) }) else { return nil }
        self.number = number
        self.name = fields["Name:"].map(String.init) ?? "?"
        self.blockedSignals = blocked
    }
}

extension ThreadStatus {
    /// Whether a debugger, or another process, traces this one. False without `/proc`.
    package static var isTraced: Bool { isTraced(System.readProcFile("/proc/self/status") ?? "") }

    /// - Parameter status: The contents of the file.
    static func isTraced(_ status: String) -> Bool {
        status.split(separator: "\n").contains { $0.hasPrefix("TracerPid:") && !$0.hasSuffix("\t0") }
    }
}
