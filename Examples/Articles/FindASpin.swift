import Glibc
import RunLoopDiagnostics
import RunLoopKit

var ends: [Int32] = [0, 0]
pipe(&ends)
write(ends[1], "x", 1)

// The mistake: the handler does not read, so the pipe stays ready.
var calls = 0
let source = try Loop.FileDescriptorSource(
    ends[0], isolation: .shared, label: "the pipe"
) { _, _ in
    calls += 1
    if calls == 1000 { Loop.main.stop() }
}
Loop.main.add(source)

let tracer = LoopTracer()
tracer.attach(to: .main)
Loop.main.run()
for finding in tracer.snapshot().findings {
    print("\(finding.kind): \(finding.handler.name)")
}
