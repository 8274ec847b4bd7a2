import RunLoopKit
import RunLoopKitSystem
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(1))) struct FileDescriptorSourceTests {
    private static func pipe() throws -> (readEnd: FileDescriptor, writeEnd: FileDescriptor) {
        try FileDescriptor.pipe(options: [.nonBlocking, .closeOnExec])
    }

    private static func read(_ descriptor: FileDescriptor?) -> String? {
        guard let descriptor else { return nil }
        return try? String(unsafeUninitializedCapacity: 64) { bytes in
            try descriptor.read(into: UnsafeMutableRawBufferPointer(bytes))
        }
    }

    /// The loop of the calling thread would belong to whatever test runs next on it.
    private let thread: LoopThread
    init() throws { thread = try LoopThread(name: "worker") }

    @Test("A source takes a borrowed descriptor and gives it back; it stays open")
    func borrowed() async throws {
        let ends = try Self.pipe()
        defer { try? ends.readEnd.close() }
        let (parts, continuation) = AsyncStream.makeStream(of: String?.self)
        let source = try Loop.FileDescriptorSource(ends.readEnd) { source, ready in
            continuation.yield("\(ready): \(Self.read(source.fileDescriptor) ?? "nothing")")
            source.invalidate()
        }
        #expect(source.fileDescriptor == ends.readEnd)
        try ends.writeEnd.closeAfter { _ = try ends.writeEnd.writeAll("hello".utf8) }
        thread.loop.add(source, in: .default)
        var iterator = parts.makeAsyncIterator()
        #expect(await iterator.next() == "readable|hangUp: hello")
        #expect(source.fileDescriptor == ends.readEnd)
        #expect(Self.read(ends.readEnd)?.isEmpty == true)
    }

    @Test("An owned descriptor is closed with its source, which then has none")
    func owned() throws {
        let ends = try Self.pipe()
        defer { try? ends.writeEnd.close() }
        let source = try Loop.FileDescriptorSource(owning: ends.readEnd) { _, _ in }
        #expect(source.fileDescriptor == ends.readEnd)
        source.invalidate()
        #expect(source.fileDescriptor == nil)
    }

    private actor Reader {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var text = ""
        private var hasEnded: CheckedContinuation<Void, Never>?
        private var isAtEnd = false
        init(_ thread: LoopThread) { self.thread = thread }

        func start(_ descriptor: FileDescriptor, owning: Bool) throws {
            let handler:
                @Sendable (isolated Reader, Loop.FileDescriptorSource, Loop.FileDescriptorSource.Readiness) -> Void = {
                    reader, source, _ in reader.receive(from: source)
                }
            let source =
                try owning
                ? Loop.FileDescriptorSource(owning: descriptor, isolation: self, handler: handler)
                : Loop.FileDescriptorSource(descriptor, isolation: self, handler: handler)
            thread.loop.add(source, in: .default)
        }

        private func receive(from source: Loop.FileDescriptorSource) {
            let part = FileDescriptorSourceTests.read(source.fileDescriptor) ?? ""
            text += part
            guard part.isEmpty else { return }
            source.invalidate()
            isAtEnd = true
            hasEnded?.resume()
        }

        func waitForEnd() async {
            if !isAtEnd { await withCheckedContinuation { hasEnded = $0 } }
        }
    }

    @Test("An actor on the loop reads", arguments: [true, false])
    func actors(owning: Bool) async throws {
        let ends = try Self.pipe()
        let reader = Reader(thread)
        try await reader.start(ends.readEnd, owning: owning)
        try ends.writeEnd.closeAfter { _ = try ends.writeEnd.writeAll("hello".utf8) }
        await reader.waitForEnd()
        #expect(await reader.text == "hello")
        if !owning { try ends.readEnd.close() }
    }

    @Test("Reports are a sequence", arguments: [true, false])
    func reports(owning: Bool) async throws {
        let ends = try Self.pipe()
        let (source, reports) =
            try owning
            ? Loop.FileDescriptorSource.makeReports(owning: ends.readEnd, on: thread.loop)
            : Loop.FileDescriptorSource.makeReports(of: ends.readEnd, on: thread.loop)
        try ends.writeEnd.closeAfter { _ = try ends.writeEnd.writeAll("hello".utf8) }
        var text = ""
        for await _ in reports {
            guard let part = Self.read(source.fileDescriptor), !part.isEmpty else { break }
            text += part
        }
        #expect(text == "hello")
        if !owning { try ends.readEnd.close() }
    }

    @Test("An error has swift-system's number")
    func errors() throws {
        let file = try FileDescriptor.open("/proc/self/exe", .readOnly)
        let refused = #expect(throws: LoopError.self) { try Loop.FileDescriptorSource(file) { _, _ in } }
        #expect(refused?.errorNumber == .notPermitted)
        try file.close()
        let closed = #expect(throws: LoopError.self) {
            try Loop.FileDescriptorSource(owning: FileDescriptor(rawValue: 1_000_000)) { _, _ in }
        }
        #expect(closed?.errorNumber == .badFileDescriptor)
    }
}
