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

/// What a program adds to a loop that has only a call to wake it: a mutex and a list of nodes, which the loop takes
/// whole.
final class HandMadeList: @unchecked Sendable {
    typealias Block = @Sendable () -> Void

    private struct Node {
        let block: Block
        var next: UnsafeMutablePointer<Node>?
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var first: UnsafeMutablePointer<Node>?
    private var last: UnsafeMutablePointer<Node>?

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    /// Returns true if the list was empty.
    func append(_ block: @escaping Block) -> Bool {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        node.initialize(to: Node(block: block, next: nil))
        pthread_mutex_lock(mutex)
        let wasEmpty = first == nil
        if wasEmpty { first = node } else { last!.pointee.next = node }
        last = node
        pthread_mutex_unlock(mutex)
        return wasEmpty
    }

    func run() {
        pthread_mutex_lock(mutex)
        var node = first
        first = nil
        pthread_mutex_unlock(mutex)
        while let current = node {
            current.pointee.block()
            node = current.pointee.next
            current.deinitialize(count: 1)
            current.deallocate()
        }
    }
}
