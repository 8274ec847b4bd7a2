import Glibc
import RunLoopKit

var ends: [Int32] = [0, 0]
guard pipe(&ends) == 0 else { fatalError("no pipe") }
let output = try Loop.Connection(owning: ends[0]) { _, event in
    guard case .received(let bytes) = event else { return }
    print(String(decoding: bytes, as: UTF8.self), terminator: "")
}
let result = LoopBound<Loop.ProcessSource.Exit?>(nil, on: .main)
let child = try Loop.ChildProcess(
    "sh", ["-c", "echo hello; echo world; exit 3"], output: .descriptor(ends[1])
) { _, exit in
    result.value = exit
}
close(ends[1])  // or the end of the output would never come

Loop.main.add(output, in: "child")
Loop.main.add(child, in: "child")
Loop.main.run(mode: "child", for: .seconds(60))  // until both are over
print(result.value.map { "\($0)" } ?? "still runs")
