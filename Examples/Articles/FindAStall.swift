import Glibc
import RunLoopDiagnostics
import RunLoopKit
import Synchronization

let isReported = Atomic<Bool>(false)
let monitor = try StallMonitor(thresholds: [.milliseconds(50)]) { report in
    guard report.isFirst else { return }  // each stall once, even one that was seen at its end only
    print("a \(report.kind) keeps the loop '\(report.loop)'")
    isReported.store(true, ordering: .relaxed)
}
monitor.watch(.main, name: "main")

Loop.main.perform {
    while !isReported.load(ordering: .relaxed) {}  // work that takes long
}
Loop.main.run(mode: .default, for: .zero)
