import CoreFoundation
import Foundation
import RunLoopKit

func playOnCFRunLoop() {
    let loop = CFRunLoopGetCurrent()!
    let timer = CFRunLoopTimerCreateWithHandler(
        nil, CFAbsoluteTimeGetCurrent() + 3600, 0, 0, 0
    ) { _ in
        print("    the timer")
        CFRunLoopStop(CFRunLoopGetCurrent())
    }
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)

    let observer = CFRunLoopObserverCreateWithHandler(
        nil, Loop.Activity.all.rawValue, true, 0
    ) { _, activity in
        print(Loop.Activity(rawValue: activity.rawValue))
        if activity.rawValue == Loop.Activity.beforeWaiting.rawValue {
            CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent())
        }
    }!
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)

    var context = CFRunLoopSourceContext()
    context.perform = { _ in print("    the source") }
    let source = CFRunLoopSourceCreate(nil, 0, &context)!
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    CFRunLoopSourceSignal(source)

    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
        print("    the block")
    }

    let result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, false)
    print("result", result.rawValue)
}

func playOnLoop() {
    let loop = Loop.current
    let timer = Loop.Timer(after: .seconds(3600)) { _ in
        print("    the timer")
        Loop.current.stop()
    }
    loop.add(timer, in: .default)

    let observer = Loop.Observer(.all) { _, activity in
        print(activity)
        if activity == .beforeWaiting { timer.restart(after: .zero) }
    }
    loop.add(observer, in: .default)

    let source = Loop.Source0 { print("    the source") }
    loop.add(source, in: .default)
    source.signal()

    loop.perform { print("    the block") }

    let result = loop.run(mode: .default, for: .seconds(10))
    print("result", result.rawValue)
}

playOnCFRunLoop()
print("--")
playOnLoop()
