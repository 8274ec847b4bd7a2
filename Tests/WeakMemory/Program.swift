/// Threads and the memory that they share.
package struct Program {
    private(set) var atomics: [Int] = []
    private(set) var plains: [Int] = []
    private(set) var names: [String] = []
    private(set) var threads: [ModelThread.Body] = []
    /// Whether a thread uses fences. Others are explored faster.
    package var hasFences = false
    /// Checks an end: what the threads have returned, one after the other, and the last values of the locations.
    private(set) var check: (_ results: [Int], _ last: (Location) -> Int) -> Bool = { _, _ in true }

    package init() {}

    package mutating func atomic(_ value: Int = 0) -> Location {
        atomics.append(value)
        return Location(index: atomics.count - 1)
    }

    package mutating func plain(_ name: String, _ value: Int = 0) -> Plain {
        plains.append(value)
        names.append(name)
        return Plain(index: plains.count - 1)
    }

    /// Adds a thread that returns numbers.
    package mutating func reports(_ body: @escaping ModelThread.Body) { threads.append(body) }

    package mutating func thread(_ body: @escaping (ModelThread) -> Void) {
        threads.append { thread in
            body(thread)
            return []
        }
    }

    package mutating func atEnd(_ check: @escaping (_ results: [Int], _ last: (Location) -> Int) -> Bool) {
        self.check = check
    }
}
