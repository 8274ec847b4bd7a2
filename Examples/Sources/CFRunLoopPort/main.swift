// A worker thread as CFRunLoop makes it, and the same with this library: OldJournal.swift and NewJournal.swift.
//
//     CFRunLoopPort old|new
//
// Both print the same. What became what:
//
// | old                                                     | new                                 |
// |---------------------------------------------------------|-------------------------------------|
// | `Thread` with a run loop, a flag and two semaphores     | `LoopThread`                        |
// | a source that keeps the loop running                    | –                                   |
// | `CFRunLoopPerformBlock` and `CFRunLoopWakeUp`           | `perform`                           |
// | the same with a semaphore                               | `performAndWait`                    |
// | `CFRunLoopSourceContext` with an unretained pointer     | `Loop.Source0` with a closure       |
// | `CFRunLoopSourceSignal` and `CFRunLoopWakeUp`           | `signal`                            |
// | `CFRunLoopTimerCreateWithHandler` with an absolute time | `Loop.Timer(every:)`                |
// | properties that only the thread may touch, by agreement | `LoopBound`                         |
// | `CFRunLoopStop` in a block, and a semaphore             | `stop` and `join`                   |
import Foundation

typealias Report = @Sendable (String) -> Void

/// Takes lines from any thread, and keeps them on a thread of its own.
protocol Journal: Sendable {
    func add(_ line: String)
    func lineCount() throws -> Int
    func setNeedsFlush()
    func stop()
}

func story(_ make: (@escaping Report) throws -> any Journal) throws {
    let flushed = DispatchSemaphore(value: 0)
    let beaten = DispatchSemaphore(value: 0)
    let journal = try make { event in
        if event == "heartbeat" { return _ = beaten.signal() }
        print(event)
        flushed.signal()
    }
    for number in 1...1000 { journal.add("line \(number)") }
    print("it has \(try journal.lineCount()) lines")
    for _ in 1...100 { journal.setNeedsFlush() }  // coalesced
    flushed.wait()
    for _ in 1...3 { beaten.wait() }
    print("three heartbeats")
    journal.stop()
    print("stopped")
}

switch CommandLine.arguments.dropFirst() {
case ["old"]: try story(OldJournal.init(report:))
case ["new"]: try story(NewJournal.init(report:))
default:
    FileHandle.standardError.write(Data("usage: CFRunLoopPort old|new\n".utf8))
    exit(64)
}
