import Foundation
import NIOPosix
import RunLoopKit

/// The peers as places where blocks run. Their threads live until the process ends.
enum PeerSinks {
    @Sendable static func all() throws -> [any Sink] {
        var sinks: [any Sink] = [NIOSink()]
        #if canImport(CLibUV)
            sinks.append(UVSink())
        #endif
        #if canImport(CLibEvent)
            sinks.append(EventSink())
        #endif
        #if canImport(CGLib)
            sinks.append(GLibSink())
            sinks.append(HostedSink("RunLoopKit, hosted by GLib"))
        #endif
        return sinks
    }
}

private final class NIOSink: Sink {
    let name = "SwiftNIO"
    private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    func post(_ block: @escaping @Sendable () -> Void) { loop.execute(block) }
}

/// What a program adds to a loop that has only a call to wake it: a mutex and an array.
final class HandMadeList: @unchecked Sendable {
    typealias Block = @Sendable () -> Void

    private let lock = NSLock()
    private var blocks: [Block] = []
    /// Accessed by the loop's thread only.
    private var spare: [Block] = []

    /// Returns true if the list was empty.
    func append(_ block: @escaping Block) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        blocks.append(block)
        return blocks.count == 1
    }

    func run() {
        lock.lock()
        swap(&blocks, &spare)
        lock.unlock()
        for block in spare { block() }
        spare.removeAll(keepingCapacity: true)
    }
}
