/// A 4-ary heap of plain values, the first one at index 0. Every node records its place, so it moves and leaves in
/// O(log n) without a search.
struct PlacedHeap<Node: PlacedNode> {
    /// Identifies this heap among those that a node's object is in.
    var owner: ObjectIdentifier?

    /// After a change of a node, call `settle(_:)`.
    var nodes: [Node] = []

    mutating func insert(_ node: Node) {
        nodes.append(node)
        settle(nodes.count - 1)
    }

    mutating func remove(at index: Int) {
        nodes[index].record(place: nil, in: owner)
        let last = nodes.removeLast()
        if index < nodes.count {
            nodes[index] = last
            settle(index)
        }
        // An array never shrinks by itself.
        if nodes.capacity > 64, nodes.count < nodes.capacity / 8 { nodes = nodes.map { $0 } }
    }

    mutating func removeAll() -> [Node] {
        for node in nodes { node.record(place: nil, in: owner) }
        return exchange(&nodes, with: [])
    }

    /// Moves a node that is new or has changed to where it belongs.
    mutating func settle(_ start: Int) {
        let owner = owner
        // The node leaves a hole, and the nodes on its way move into it. Against swaps of array elements this halves a
        // re-timing among 1,000 timers.
        nodes.withUnsafeMutableBufferPointer { nodes in
            let node = nodes[start]
            var hole = start
            func fill(from other: Int) {
                nodes[hole] = nodes[other]
                nodes[hole].record(place: hole, in: owner)
                hole = other
            }
            while hole > 0, node.isBefore(nodes[(hole - 1) / 4]) { fill(from: (hole - 1) / 4) }
            if hole == start {
                while let child = Self.firstChild(of: hole, in: nodes), nodes[child].isBefore(node) {
                    fill(from: child)
                }
            }
            nodes[hole] = node
            node.record(place: hole, in: owner)
        }
    }

    @inline(__always)
    private static func firstChild(of index: Int, in nodes: UnsafeMutableBufferPointer<Node>) -> Int? {
        var first = 4 * index + 1
        guard first < nodes.count else { return nil }
        for child in (first + 1)..<min(first + 4, nodes.count) where nodes[child].isBefore(nodes[first]) {
            first = child
        }
        return first
    }

    private func children(of index: Int) -> Range<Int> {
        min(4 * index + 1, nodes.count)..<min(4 * index + 5, nodes.count)
    }

    /// Visits the node at `index` and its descendants. If `body` returns false for a node, skips the node's
    /// descendants.
    func visit(_ index: Int = 0, _ body: (Node) -> Bool) {
        guard index < nodes.count, body(nodes[index]) else { return }
        for child in children(of: index) { visit(child, body) }
    }
}

/// A value in a `PlacedHeap`. Trivial, so that moving it counts no references.
protocol PlacedNode: BitwiseCopyable {
    func isBefore(_ other: borrowing Self) -> Bool

    /// Records the place in the heap of `owner`; nil when the node leaves it.
    func record(place: Int?, in owner: ObjectIdentifier?)
}
