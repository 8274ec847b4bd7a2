import RunLoopKit

let result = LoopBound<Loop.ProcessSource.Exit?>(nil, on: .main)
let child = try Loop.ChildProcess("sh", ["-c", "echo hello; echo world; exit 3"], output: .pipe) { _, exit in
    result.value = exit
}
child.outputConnection.setHandler { _, event in
    guard case .received(let bytes) = event else { return }
    print(String(decoding: bytes, as: UTF8.self), terminator: "")
}

Loop.main.add(child, in: "child")  // with its output
Loop.main.run(mode: "child", for: .seconds(60))  // until both are over
print(result.value.map { "\($0)" } ?? "still runs")
