internal import CLinux

extension System {
    /// The return addresses of the calling thread's frames, the innermost first: the caller's own comes first.
    static func backtrace(depth: Int) -> [UInt] {
        withUnsafeTemporaryAllocation(of: UInt.self, capacity: depth) { addresses in
            let count = clinux_backtrace(addresses.baseAddress, UInt(depth))
            return Array(addresses.prefix(Int(count)))
        }
    }
}
