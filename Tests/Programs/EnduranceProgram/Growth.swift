/// The law of all scenarios: what a program has while it works is the same after a quarter of the work and at the end.
///
/// It compares the medians of the second and of the last quarter, or all of their values where none may be higher. The
/// first quarter warms up: tables, caches and the allocator's heaps grow to the size that they keep. No time is
/// compared.
///
/// The allowances are for arrays that have grown to the size of a rare moment, and for the allocator's fragments. A
/// leak is noticed if it comes to 64 KiB in half of the scenario: one byte in 76 operations of ten million, 1.4 bytes
/// for each of 100,000 threads.
enum Growth {
    private static let allocatedAllowance = 64 << 10
    private static let residentAllowance = 2 << 20

    static func faults(_ samples: [Sample]) -> [String] {
        let second = samples[samples.count / 4..<samples.count / 2]
        let last = samples[samples.count * 3 / 4..<samples.count]
        var faults: [String] = []
        func check(_ name: String, _ before: Int, _ after: Int, _ allowance: Int) {
            if after > before + allowance { faults.append("\(name): \(after) in the last quarter, \(before) before") }
        }
        // Those of a sanitizer are not the program's.
        if !OwnProcess.hasSanitizer {
            check("allocated bytes", median(second, \.allocated), median(last, \.allocated), allocatedAllowance)
            check("resident bytes", median(second, \.resident), median(last, \.resident), residentAllowance)
        }
        check("descriptors", second.map(\.descriptors).max()!, last.map(\.descriptors).max()!, 0)
        check("threads", second.map(\.threads).max()!, last.map(\.threads).max()!, 0)
        return faults
    }

    static func median<Value: Comparable>(_ samples: ArraySlice<Sample>, _ value: (Sample) -> Value) -> Value {
        samples.map(value).sorted()[samples.count / 2]
    }
}
