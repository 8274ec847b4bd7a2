/// A queue: elements are taken in the order in which they were appended.
struct FirstInFirstOut<Element> {
    private var elements: [Element?] = []
    /// Where the first one is. What is before it has been taken.
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    var count: Int { elements.count - head }

    var first: Element? { isEmpty ? nil : elements[head] }

    /// - Precondition: It is not empty.
    mutating func replaceFirst(with element: Element) { elements[head] = element }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func takeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let first = elements[head].take()
        head += 1
        if isEmpty {
            elements.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head > elements.count / 2, head > 64 {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }
}
