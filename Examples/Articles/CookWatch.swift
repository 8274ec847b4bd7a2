import Glibc
import RunLoopKit

var template = Array("/tmp/folder-XXXXXX".utf8CString)
let folder = String(cString: mkdtemp(&template))

let build = Loop.SupervisedChild(on: .main, restarts: .onDemand) {
    try Loop.ChildProcess("sh", ["-c", "exec grep -qs hello \(folder)/*"])
}
let changed = Debounce<Void>(interval: .milliseconds(50)) {
    build.restart(within: .seconds(5))
}
let source = try Loop.FolderSource(
    folder, options: .subfolders, excluding: { $0.name == ".build" }
) { _, _ in changed() }
Loop.main.add(source, in: .common)

build.start { build, event in
    switch event {
    case .ended(.exited(0), _):
        print("succeeded")
        build.end(within: .seconds(5))
    case .ended(let exit, _):
        print("\(exit), until a file changes")
        // As an editor does.
        let file = fopen(folder + "/letter.txt", "w")
        fputs("hello", file)
        fclose(file)
    case .over: Loop.main.stop()
    case .started, .notStarted: break
    }
}
Loop.main.run()
remove(folder + "/letter.txt")
rmdir(folder)
