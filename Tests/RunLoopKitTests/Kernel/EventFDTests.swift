import Foundation
import TestSupport
import Testing

@testable import RunLoopKit

/// What becomes of a write or a read that fails. Each trap has a process.
@Suite(.timeBound) struct EventFDTests {
    private static let advice = "the program has closed a descriptor of a loop: close only those that it has opened\n"

    @Test("A write to a descriptor that the program has closed traps with its name and number")
    func writeToClosed() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            System.signal(eventFD: 9999)
        }
        expect(result, says: "RunLoopKit: write(eventfd 9999): Bad file descriptor (EBADF); " + Self.advice)
    }

    @Test("A read from a descriptor that the program has closed traps")
    func readFromClosed() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = System.drain(eventFD: 9999)
        }
        expect(result, says: "RunLoopKit: read(eventfd 9999): Bad file descriptor (EBADF); " + Self.advice)
    }

    @Test("Another file in the descriptor's place traps")
    func replaced() async {
        let read = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data([1]))
            _ = System.drain(eventFD: pipe.fileHandleForReading.fileDescriptor)
        }
        expect(read, says: "): only part of a number; " + Self.advice)
        let written = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            System.signal(eventFD: open("/dev/full", O_WRONLY))
        }
        expect(written, says: "): errno 28; " + Self.advice)
    }

    @Test("A count that cannot grow is a wake-up all the same, even for a set that has seen it")
    func fullCount() throws {
        let eventFD = try EventFD()
        let poller = try Poller()
        try poller.add(eventFD.descriptor, token: 1)
        var most = UInt64.max - 1
        #expect(write(eventFD.descriptor, &most, 8) == 8)
        #expect(poller.wait(blocking: false) == 1 && poller.wait(blocking: false) == 0)
        errno = 0
        eventFD.signal()
        #expect(errno == 0 && poller.wait(blocking: false) == 1)
        eventFD.signal()
        #expect(System.drain(eventFD: eventFD.descriptor) == 2 && System.drain(eventFD: eventFD.descriptor) == 0)
    }

    private func expect(_ result: ExitTest.Result?, says text: String) {
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains(text), "\(errors)")
    }
}
