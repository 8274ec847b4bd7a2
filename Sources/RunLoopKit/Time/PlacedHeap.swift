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

    @discardableResult
    mutating func remove(at index: Int) -> Node {
        let last = nodes.removeLast()
        let removed = index < nodes.count ? nodes[index] : last
        removed.record(place: nil, in: owner)
        if index < nodes.count {
            nodes[index] = last
            settle(index)
        }
        // An array never shrinks by itself.
        if nodes.capacity > 64, nodes.count < nodes.capacity / 8 { nodes = nodes.map { $0 } }
        return removed
    }

    mutating func removeAll() {
        for node in nodes { node.record(place: nil, in: owner) }
        nodes = []
    }

    /// Moves a node that is new or has changed to where it belongs.
    mutating func settle(_ start: Int) {
        var index = start
        while index > 0, nodes[index].isBefore(nodes[(index - 1) / 4]) { move(&index, to: (index - 1) / 4) }
        if index == start {
            while let child = firstChild(of: index), nodes[child].isBefore(nodes[index]) { move(&index, to: child) }
        }
        nodes[index].record(place: index, in: owner)
    }

    private mutating func move(_ index: inout Int, to other: Int) {
        nodes.swapAt(index, other)
        nodes[index].record(place: index, in: owner)
        index = other
    }

    private func firstChild(of index: Int) -> Int? {
        let children = children(of: index)
        guard var first = children.first else { return nil }
        for child in children where nodes[child].isBefore(nodes[first]) { first = child }
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

/// A value in a `PlacedHeap`.
protocol PlacedNode {
    func isBefore(_ other: Self) -> Bool

    /// Records the place in the heap of `owner`; nil when the node leaves it.
    func record(place: Int?, in owner: ObjectIdentifier?)
}
