import Glibc
import RunLoopKit

/// As many libraries do: reads all that there is, and hands it out.
struct Library {
    let descriptor: Int32
    private var buffer: [UInt8] = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    mutating func consumeInput() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        buffer += bytes.prefix(max(count, 0))
    }

    mutating func nextMessage() -> String? {
        let space = UInt8(ascii: " ")
        guard let end = buffer.firstIndex(of: space) else { return nil }
        defer { buffer.removeSubrange(...end) }
        return String(decoding: buffer[..<end], as: UTF8.self)
    }
}

func serve(
    _ title: String, while goesOn: @escaping @Sendable () -> Bool
) throws {
    print("\(title):")
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    write(ends[1], "one two three ", 14)  // the server sends

    let loop = Loop.current
    let library = LoopBound(Library(descriptor: ends[0]), on: loop)
    let source = try Loop.FileDescriptorSource(owning: ends[0]) { _, _ in
        print("  the loop calls the handler")
        library.value.consumeInput()
        repeat {
            guard let message = library.value.nextMessage() else { break }
            print("    message \(message)")
        } while goesOn()
    }
    loop.add(source, in: "library")
    let result = loop.run(mode: "library", for: .milliseconds(100))
    print("  the loop sleeps until the time is up: \(result)")
    while let message = library.value.nextMessage() {
        print("    left in the library: \(message)")
    }
    source.invalidate()
}

try serve("One message for each call", while: { false })
try serve("All messages in each call", while: { true })
