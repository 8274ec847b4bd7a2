import Glibc
import RunLoopKit

var child: pid_t = 0
var arguments = [strdup("sh"), strdup("-c"), strdup("exit 3"), nil]
guard posix_spawnp(&child, "sh", nil, nil, &arguments, environ) == 0 else {
    fatalError("no child")
}
let source = try Loop.ProcessSource(child) { _, exit in
    print("the child \(exit)")
    Loop.main.stop()
}
Loop.main.add(source, in: .common)
Loop.main.run()
