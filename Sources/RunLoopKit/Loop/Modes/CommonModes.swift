/// The names of a loop's common modes, in the order in which they became common.
struct CommonModes {
    private(set) var all: [Loop.Mode] = [.default]
    private var names: Set<Loop.Mode> = [.default]

    /// How many of them, the first ones, certainly exist in the loop.
    private var madeCount = 1

    func contains(_ mode: Loop.Mode) -> Bool { names.contains(mode) }

    /// Returns false if the mode is a common one already.
    mutating func insert(_ mode: Loop.Mode) -> Bool {
        guard names.insert(mode).inserted else { return false }
        all.append(mode)
        return true
    }

    /// Whether some of them may not exist in the loop.
    var mayNotExist: Bool { madeCount < all.count }

    /// Returns the modes that may not exist in the loop. The caller makes them.
    mutating func takeThoseToMake() -> ArraySlice<Loop.Mode> {
        defer { madeCount = all.count }
        return all[madeCount...]
    }
}
