import Glibc
import RunLoopKit

let worker = try LoopThread(name: "folder")
let folder = LoopBound<OpaquePointer?>(nil, on: worker.loop)  // a DIR

worker.perform { folder.value = opendir("/proc/self/task") }
let count = try worker.performAndWait {
    guard let stream = folder.value else { return 0 }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    closedir(stream)
    return count - 2  // without . and ..
}
print(count > 1 ? "more than one thread" : "one thread")
