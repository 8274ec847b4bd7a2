/// What a step of a hosted pass has found and not served, since the pass had no time left. The next pass with a budget
/// goes on with it: if each found it again, they would take time that grows with the square of its number.
struct CutStep<Item> {
    private var found: [Item] = []
    /// The index of the first that was not served.
    private var next = 0

    var isEmpty: Bool { found.isEmpty }

    mutating func take() -> (found: [Item], next: Int) {
        let taken = (exchange(&found, with: []), next)
        next = 0
        return taken
    }

    /// Keeps those from an index on, if there are any.
    mutating func keep(_ found: inout [Item], from next: Int) {
        if next < found.count { (self.found, self.next) = (exchange(&found, with: []), next) }
    }

    mutating func forget() { (found, next) = ([], 0) }
}
