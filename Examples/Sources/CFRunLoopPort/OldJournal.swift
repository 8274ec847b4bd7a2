import CoreFoundation
import Foundation

/// As it was: a thread that runs its run loop.
final class OldJournal: Journal, @unchecked Sendable {
    private let report: Report
    private var loop: CFRunLoop!
    private var flushSource: CFRunLoopSource!
    private let started = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    // Of the thread.
    private var lines: [String] = []
    private var flushedCount = 0
    private var isEnding = false

    init(report: @escaping Report) {
        self.report = report
        let thread = Thread { [self] in main() }
        thread.name = "journal"
        thread.start()
        started.wait()  // the thread makes the loop
    }

    private func main() {
        loop = CFRunLoopGetCurrent()
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.perform = { Unmanaged<OldJournal>.fromOpaque($0!).takeUnretainedValue().flush() }
        flushSource = CFRunLoopSourceCreate(nil, 0, &context)  // without a source the run would end at once
        CFRunLoopAddSource(loop, flushSource, kCFRunLoopCommonModes)
        let heartbeat = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent() + 0.01, 0.01, 0, 0) {
            [unowned self] _ in report("heartbeat")
        }
        CFRunLoopAddTimer(loop, heartbeat, kCFRunLoopCommonModes)
        started.signal()
        while !isEnding { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e10, false) }
        CFRunLoopTimerInvalidate(heartbeat)
        CFRunLoopSourceInvalidate(flushSource)
        ended.signal()
    }

    func add(_ line: String) {
        CFRunLoopPerformBlock(loop, kCFRunLoopCommonModes) { [self] in lines.append(line) }
        CFRunLoopWakeUp(loop)
    }

    func lineCount() -> Int {
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var count = 0
        CFRunLoopPerformBlock(loop, kCFRunLoopCommonModes) { [self] in
            count = lines.count
            done.signal()
        }
        CFRunLoopWakeUp(loop)
        done.wait()
        return count
    }

    func setNeedsFlush() {
        CFRunLoopSourceSignal(flushSource)
        CFRunLoopWakeUp(loop)
    }

    private func flush() {
        guard flushedCount < lines.count else { return }
        flushedCount = lines.count
        report("flushed \(flushedCount) lines")
    }

    func stop() {
        CFRunLoopPerformBlock(loop, kCFRunLoopCommonModes) { [self] in
            isEnding = true
            CFRunLoopStop(loop)
        }
        CFRunLoopWakeUp(loop)
        ended.wait()
    }
}
