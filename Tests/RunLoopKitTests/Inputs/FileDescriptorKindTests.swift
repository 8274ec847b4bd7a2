import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

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

    /// Or a program would read, as its input, what is the library's.
    @Test("No descriptor of the library's gets the number of a closed standard stream")
    func closedStreams() async {
        await #expect(processExitsWith: .success) {
            for number: Int32 in 0...2 { closeFile(number) }
            try FileDescriptorKindTests.useInputsWithoutStreams()
            _exit(0)
        }
    }

    /// Ends the process with the line in which a stream is open. An expectation could not print.
    private static func requireClosedStreams(_ line: Int32 = #line) {
        for number: Int32 in 0...2 where isOpen(number) { _exit(line) }
    }

    private static func useInputsWithoutStreams() throws {
        do throws(LoopError) {
            _ = try Source(0) { _, _ in }
            _exit(1)
        } catch {
            guard error.description == "epoll_ctl(0): Bad file descriptor (EBADF)" else { _exit(2) }
        }
        requireClosedStreams()
        let thread = try LoopThread(name: "streams")
        let loop = thread.loop
        try thread.performAndWait {
            loop.add(Loop.Timer(after: .seconds(1000)) { _ in })
            loop.add(Loop.Timer(after: .seconds(1000), timeBase: .wallClock) { _ in })
            loop.run(mode: "m", for: .zero)
        }
        requireClosedStreams()
        let port = try Loop.PortSource { _ in }
        let signal = try Loop.SignalSource(SIGUSR1) { _, _ in }
        let folder = try Loop.FolderSource("/proc/self/fdinfo", options: .subfolders) { _, _ in }
        requireClosedStreams()
        let listener = try Loop.Listener(.tcp(.loopback, port: 0)) { _, _ in }
        let client = try Loop.Connection(connectingTo: listener.address!)
        let child = try Loop.ChildProcess("sleep", ["1000"], input: .pipe, output: .pipe, error: .pipe)
        let process = try Loop.ProcessSource(child.process) { _, _ in }
        requireClosedStreams()
        for item in [port, signal, folder, listener, client, child, process] { loop.add(item, in: .common) }
        try thread.performAndWait {}
        requireClosedStreams()
        child.signal(SIGKILL)
        thread.stop()
        thread.join()
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
