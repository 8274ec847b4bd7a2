import Glibc
import RunLoopKit

var template = Array("/tmp/folder-XXXXXX".utf8CString)
let folder = String(cString: mkdtemp(&template))

let source = try Loop.FolderSource(folder) { _, events in
    for event in events { print(event) }
    Loop.main.stop()
}
Loop.main.add(source, in: .common)

// As an editor saves: under another name first.
fclose(fopen(folder + "/letter.new", "w"))
rename(folder + "/letter.new", folder + "/letter.txt")
Loop.main.run()
remove(folder + "/letter.txt")
rmdir(folder)
