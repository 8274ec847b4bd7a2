import CoreFoundation
import Foundation

/// A thread that runs a CFRunLoop until it is deallocated: the counterpart of a `LoopThread` in CF's terms.
final class CFThread: @unchecked Sendable {
    typealias Block = @convention(block) @Sendable () -> Void

    let loop: CFRunLoop
    private let thread: PlainThread

    init() {
        let isReady = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var loop: CFRunLoop?
        thread = PlainThread {
            loop = CFRunLoopGetCurrent()
            CFRunLoopAddSource(loop, CFThread.makeIdleSource(), kCFRunLoopDefaultMode)
            isReady.signal()
            CFRunLoopRun()
        }
        isReady.wait()
        self.loop = loop!
    }

    deinit {
        let loop = SendableLoop(loop)
        perform { CFRunLoopStop(loop.value) }
        thread.join()
    }

    func perform(_ block: @escaping Block) {
        CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, block)
        CFRunLoopWakeUp(loop)
    }

    /// A run in an empty mode would return at once.
    static func makeIdleSource() -> CFRunLoopSource {
        var context = CFRunLoopSourceContext()
        context.perform = { _ in }
        return CFRunLoopSourceCreate(nil, 0, &context)
    }

    private struct SendableLoop: @unchecked Sendable {
        let value: CFRunLoop
        init(_ value: CFRunLoop) { self.value = value }
    }
}
