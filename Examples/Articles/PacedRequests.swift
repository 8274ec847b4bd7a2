import RunLoopKit

// In virtual time: the program waits for nothing.
let loop = Loop(clock: VirtualClock())
let start = loop.now

func log(_ text: String) {
    print("\(Int((loop.now - start) / .milliseconds(1))) ms: \(text)")
}

// Fifty a second, evenly.
let requests = PacedQueue<String>(
    50, per: .seconds(1), capacity: 3, on: loop
) { path in log("requests \(path)") }
for path in ["/a", "/b", "/c", "/d", "/e"] {
    guard requests(path) != .accepted else { continue }
    log("\(path) must come again")
}
loop.run()

// A hundred thousand bytes a second, in blocks.
let output = PacedQueue<[UInt8]>(
    100_000, per: .seconds(1), capacity: 64, on: loop
) { block in log("sends \(block.count) bytes") }
for size in [40_000, 10_000, 50_000] {
    let block = [UInt8](repeating: 0, count: size)
    guard output(block, cost: size) == .accepted else { continue }
}
loop.run()
