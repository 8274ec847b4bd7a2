import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Which descriptors can be watched, and the errors for the others.
@Suite(.timeBound) struct FileDescriptorKindTests {
    private typealias Source = Loop.FileDescriptorSource

    @Test("A file that is always ready is refused with an error that says what to do")
    func alwaysReadyFiles() throws {
        for path in [#filePath, "/", "/dev/null"] {
            let file = openFile(path)
            defer { closeFile(file) }
            let error = #expect(throws: LoopError.self) { try Source(file) { _, _ in } }
            #expect(error?.description.hasPrefix("epoll_ctl(\(file)): Operation not permitted (EPERM); ") ?? false)
            #expect(error?.advice?.contains("read or write it directly") ?? false)
            #expect(throws: LoopError.self) { try Source(owning: file) { _, _ in } }
            #expect(isOpen(file))
        }
    }

    /// Closing any descriptor of a file, even a duplicate made for a try, releases the process's POSIX locks on it.
    @Test("A refused file keeps its locks")
    func refusedFileKeepsLocks() throws {
        let file = LockedFile()
        #expect(throws: LoopError.self) { try Source(file.descriptor) { _, _ in } }
        #expect(throws: LoopError.self) { try Source(owning: file.descriptor) { _, _ in } }
        #expect(file.isLocked)
    }

    @Test("A duplicate is not inherited")
    func duplicateIsNotInherited() throws {
        let pipe = Ends.pipe()
        let source = try Source(pipe.reader) { _, _ in }
        #expect(source.watches[0].descriptor != pipe.reader && closesOnExec(source.watches[0].descriptor))
    }

    @Test("A descriptor that only names a pipe is refused")
    func descriptorOfAName() throws {
        let name = openNameOfPipe()
        defer { closeFile(name) }
        let error = #expect(throws: LoopError.self) { try Source(name) { _, _ in } }
        #expect(error?.description.hasSuffix("Bad file descriptor (EBADF)") == true)
    }

    @Test("A number that is not an open descriptor is refused", arguments: [-1, Int32.min, Int32.max])
    func noDescriptor(_ number: Int32) {
        let borrowed = #expect(throws: LoopError.self) { try Source(number) { _, _ in } }
        let owned = #expect(throws: LoopError.self) { try Source(owning: number) { _, _ in } }
        for error in [borrowed, owned] {
            #expect(error?.description == "epoll_ctl(\(number)): Bad file descriptor (EBADF)")
        }
    }

    /// A loop hosts a foreign epoll set by its descriptor.
    @Test("An epoll set can be a source")
    func epollSetAsSource() throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let foreign = try Poller()
        let pipe = Ends.pipe()
        try foreign.set(Watch(descriptor: pipe.reader, events: .read), token: 7)
        let log = Log<UInt64>()
        let source = try Source(foreign.descriptor) { _, _ in
            for index in 0..<foreign.wait(blocking: false) { log.add(foreign.report(at: index).token) }
            _ = pipe.take()
        }
        loop.add(source, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [7])
    }
}
