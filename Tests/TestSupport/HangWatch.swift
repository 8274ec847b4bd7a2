/// Distinguishes a test that hangs from one that a busy machine delays.
///
/// A test hangs if it has run for its time limit while no test, itself included, began or ended. Its age alone says
/// little: tests share few threads, so a test that waits behind others grows old without a fault. The run makes
/// progress as long as tests begin and end; once that stops, only tests that hang are left.
///
/// Time is counted in ticks, so that time in which the whole process stood still does not count.
package struct HangWatch {
    /// A running test.
    package struct Running: Equatable {
        package let name: String
        /// In ticks.
        package let limit: Int
        /// In ticks.
        package fileprivate(set) var age = 0
    }

    private var running: [Int: Running] = [:]
    private var lastNumber = 0
    /// The number of ticks since a test began or ended.
    private var silence = 0

    package init() {}

    /// Returns the number with which `end(_:)` ends the test.
    package mutating func begin(_ name: String, limit: Int) -> Int {
        silence = 0
        lastNumber += 1
        running[lastNumber] = Running(name: name, limit: limit)
        return lastNumber
    }

    package mutating func end(_ number: Int) {
        silence = 0
        running[number] = nil
    }

    /// Counts a tick.
    ///
    /// - Returns: The tests that hang, in the order in which they began.
    package mutating func tick() -> [Running] {
        silence += 1
        for number in running.keys { running[number]!.age += 1 }
        return all.filter { silence >= $0.limit }
    }

    /// The running tests, in the order in which they began.
    package var all: [Running] { running.sorted { $0.key < $1.key }.map(\.value) }
}
