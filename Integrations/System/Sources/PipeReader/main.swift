// Reads a pipe with swift-system when the loop says that there is something to read.
import RunLoopKit
import RunLoopKitSystem
import SystemPackage

let (reading, writing) = try FileDescriptor.pipe(options: [.nonBlocking, .closeOnExec])
var text: [UInt8] = []  // a read may end inside a character

let source = try Loop.FileDescriptorSource(owning: reading, isolation: .shared) { source, _ in
    do {
        let part = try [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = try source.fileDescriptor!.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        text += part
        if part.isEmpty { Loop.main.stop() }  // all writing ends are closed
    } catch Errno.wouldBlock {
        // The readiness was spurious.
    } catch {
        print("read: \(error)")
        Loop.main.stop()
    }
}
Loop.main.add(source, in: .default)

let writer = try LoopThread(name: "writer")
writer.perform {
    _ = try? writing.closeAfter {
        for word in ["read ", "by ", "the ", "main ", "loop"] { _ = try writing.writeAll(word.utf8) }
    }
}
Loop.main.run()
source.invalidate()
print(String(decoding: text, as: UTF8.self))

// What the kernel does not watch is refused, with swift-system's error.
do {
    let file = try FileDescriptor.open("/proc/self/exe", .readOnly)
    defer { try? file.close() }
    _ = try Loop.FileDescriptorSource(file) { _, _ in }
} catch let error as LoopError where error.errorNumber == .notPermitted {
    print("refused: \(error)")
}
