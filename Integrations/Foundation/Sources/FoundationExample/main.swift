// Foundation's run loop and Loop.main on one thread. The argument says who runs: `RunLoop`, by CFRunLoopRun, or
// `bridge`, by FoundationBridge.run(). Other arguments show a stop, an end, and idleness.
import CoreFoundation
import Foundation
import RunLoopKit
import RunLoopKitFoundation

let bridge = try FoundationBridge.begin()
var done: Set<String> = []
let wanted: Set<String> = [
    "@MainActor task", "CFReadStream", "CFSocket", "DispatchQueue.main", "Loop.Timer", "Loop.Timer of a Date",
    "Loop.perform", "Loop.run nested in a Timer", "NotificationQueue", "Process.terminationHandler",
    "Process.waitUntilExit", "RunLoop nested in a Loop.Timer",
    "RunLoop.perform", "Timer",
]

@MainActor func end() {
    // Each library's stop ends the other one's run.
    if CommandLine.arguments.last == "RunLoop" { Loop.main.stop() } else { CFRunLoopStop(CFRunLoopGetMain()) }
}

@MainActor func finish(_ what: String) {
    done.insert(what)
    if done == wanted { end() }
}

/// Calls `body` on the initial thread, from a timer of Foundation.
@MainActor func addTimer(_ seconds: TimeInterval, _ body: @escaping @MainActor @Sendable () -> Void) {
    RunLoop.main.add(
        Timer(timeInterval: seconds, repeats: false) { _ in MainActor.assumeIsolated(body) }, forMode: .common)
}

@MainActor func addLoopTimer(_ body: @escaping @MainActor @Sendable () -> Void) {
    Loop.main.add(Loop.Timer(after: .milliseconds(5), isolation: .shared) { _ in body() }, in: .common)
}

@MainActor func startAll() throws {
    addTimer(0.005) { finish("Timer") }
    Loop.main.add(
        Loop.Timer(timeInterval: 0.005, repeats: false, isolation: .shared) { _ in finish("Loop.Timer") }, in: .common)
    Loop.main.add(
        Loop.Timer(fire: Date() + 0.005, isolation: .shared) { _ in finish("Loop.Timer of a Date") }, in: .common)
    Task { @MainActor in
        try? await Task.sleep(for: .milliseconds(1))
        finish("@MainActor task")
    }
    DispatchQueue.global().async { DispatchQueue.main.async { finish("DispatchQueue.main") } }
    Thread.detachNewThread {
        RunLoop.main.perform { MainActor.assumeIsolated { finish("RunLoop.perform") } }
        CFRunLoopWakeUp(CFRunLoopGetMain())
        Loop.main.perform(in: .common) { MainActor.assumeIsolated { finish("Loop.perform") } }
    }
    startProcesses()
    postNotification()
    startSocket()
    startStream()
    startNested()
}

@MainActor func startProcesses() {
    addLoopTimer {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/true")
        try! process.run()
        process.waitUntilExit()
        if process.terminationStatus == 0 { finish("Process.waitUntilExit") }
    }
    let process = Process()
    process.executableURL = URL(filePath: "/bin/true")
    process.terminationHandler = { _ in
        DispatchQueue.main.async { finish("Process.terminationHandler") }
    }
    try! process.run()
}

@MainActor func postNotification() {
    let name = Notification.Name("Example")
    _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
        MainActor.assumeIsolated { finish("NotificationQueue") }
    }
    NotificationQueue.default.enqueue(Notification(name: name), postingStyle: .asap)
}

/// The socket of CF, by which Foundation's `Process` learns of an exit too.
@MainActor func startSocket() {
    let pair = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, pair)
    let socket = CFSocketCreateWithNative(
        nil, pair[0], CFSocketCallBackType.dataCallBack.rawValue,
        { _, _, _, _, _ in MainActor.assumeIsolated { finish("CFSocket") } }, nil)
    CFRunLoopAddSource(CFRunLoopGetMain(), CFSocketCreateRunLoopSource(nil, socket, 0), kCFRunLoopCommonModes)
    let writer = pair[1]
    Thread.detachNewThread { write(writer, "x", 1) }
}

/// The stream below Foundation's `Stream`, whose delegate Foundation on Linux does not call.
@MainActor func startStream() {
    let path = Array(CommandLine.arguments[0].utf8)
    let url = CFURLCreateFromFileSystemRepresentation(nil, path, path.count, false)
    let stream = CFReadStreamCreateWithFile(nil, url)!
    var context = CFStreamClientContext()
    CFReadStreamSetClient(
        stream, CFStreamEventType.hasBytesAvailable.rawValue,
        { _, _, _ in MainActor.assumeIsolated { finish("CFReadStream") } }, &context)
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetMain(), kCFRunLoopCommonModes)
    CFReadStreamOpen(stream)
}

@MainActor func startNested() {
    addTimer(0.01) {
        var isOver = false
        addLoopTimer { isOver = true }
        // It serves nothing of Foundation.
        while !isOver { Loop.main.run(mode: .default, for: .milliseconds(1)) }
        finish("Loop.run nested in a Timer")
    }
    addLoopTimer {
        nonisolated(unsafe) var count = 0
        addTimer(0.005) { count += 1 }
        addLoopTimer { count += 1 }
        while count < 2 { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
        finish("RunLoop nested in a Loop.Timer")
    }
}

/// A stop while a handler of Foundation runs RunLoop.main nested.
@MainActor func showStop() {
    addTimer(0.001) {
        Thread.detachNewThread { Loop.main.stop() }
        CFRunLoopRun()
        print("the nested run ended")
    }
    bridge.run()
    print("the run ended")
    print(bridge.run(until: .distantPast), bridge.run(until: Date() + 0.001))
}

/// The same, and the handler runs the bridge, too, before it returns.
@MainActor func showStopAndRun() {
    addTimer(0.001) {
        Thread.detachNewThread { Loop.main.stop() }
        CFRunLoopRun()
        print(bridge.run(until: Date() + 0.001))
    }
    bridge.run()
    print("the run ended")
}

/// A handler that ends the bridge, which then begins again.
@MainActor func showEnd() throws {
    addLoopTimer { bridge.end() }
    bridge.run()
    print("ended: \(!bridge.isActive)")
    print("Loop.main: \(Loop.main.run(mode: .default, for: .zero))")
    let next = try FoundationBridge.begin()
    print("the same: \(try FoundationBridge.begin() === next)")
    addLoopTimer { Loop.main.stop() }
    next.run()
    next.end()
    next.end()
    print("ended: \(FoundationBridge.current == nil)")
}

/// Posts to a thread that sleeps: each is one wake-up, and there are no others.
@MainActor func showIdleness() {
    nonisolated(unsafe) var wakeUps = 0
    nonisolated(unsafe) var first: Int?
    let observer = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.afterWaiting.rawValue, true, 0) { _, _ in
        wakeUps += 1
    }
    CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopCommonModes)
    // Not by `addTimer`: a timer that is made with an interval fires at once here.
    RunLoop.main.add(Timer(fire: Date() + 3600, interval: 0, repeats: false) { _ in }, forMode: .common)
    Loop.main.add(Loop.Timer(every: .seconds(3600), isolation: .shared) { _ in }, in: .common)
    Thread.detachNewThread {
        for _ in 1...3 {
            while !CFRunLoopIsWaiting(CFRunLoopGetMain()) { usleep(1000) }
            usleep(100_000)  // for what would poll
            let hasRun = DispatchSemaphore(value: 0)
            Loop.main.perform(in: .common) {
                // The first is the one that all are counted from.
                if first == nil { first = wakeUps }
                print("wake-ups: \(wakeUps - first!)")
                hasRun.signal()
            }
            hasRun.wait()
        }
        Loop.main.perform(in: .common) { Loop.main.stop() }
    }
    bridge.run()
}

switch CommandLine.arguments.last {
case "stop": showStop()
case "stop-and-run": showStopAndRun()
case "end": try showEnd()
case "idle": showIdleness()
case let runner:
    try startAll()
    if runner == "RunLoop" { CFRunLoopRun() } else { bridge.run() }
    for what in done.sorted() { print(what) }
}
FoundationBridge.current?.end()
