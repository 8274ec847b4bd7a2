import Glibc
import RunLoopDiagnostics
import RunLoopKit

let tracer = LoopTracer()
tracer.attach(to: .main, as: "main")
let tick = Loop.Timer(every: .milliseconds(10), label: "tick") { _ in }
Loop.main.add(tick)
Loop.main.run(mode: .default, for: .milliseconds(100))

let path = CommandLine.arguments.dropFirst().first ?? "/dev/null"
guard let file = fopen(path, "w") else { fatalError(path) }
fputs(tracer.snapshot().html, file)  // open it in a browser
fclose(file)
