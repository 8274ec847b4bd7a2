/// The names of a loop's common modes, in the order in which they became common.
struct CommonModes {
    private(set) var all: [Loop.Mode] = [.default]
    private var names: Set<Loop.Mode> = [.default]

    func contains(_ mode: Loop.Mode) -> Bool { names.contains(mode) }

    /// Returns false if the mode is a common one already.
    mutating func insert(_ mode: Loop.Mode) -> Bool {
        guard names.insert(mode).inserted else { return false }
        all.append(mode)
        return true
    }
}
