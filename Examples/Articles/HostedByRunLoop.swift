import CoreFoundation
import Foundation
import RunLoopKit

/// Lets the main CFRunLoop, and so RunLoop.main, host Loop.main, by the
/// source that it returns.
@MainActor func hostLoopMain() throws -> CFRunLoopSource {
    let descriptor = try Loop.main.hosting.begin()
    var context = CFRunLoopSourceContext1()
    context.version = 1
    context.info = UnsafeMutableRawPointer(bitPattern: Int(descriptor))
    context.getPort = { info in Int32(Int(bitPattern: info)) }
    context.perform = { _ in
        if Loop.main.hosting.pass() == .stopped {
            CFRunLoopStop(CFRunLoopGetMain())
        }
    }
    let source = withUnsafeMutableBytes(of: &context) { bytes in
        let context = bytes.assumingMemoryBound(
            to: CFRunLoopSourceContext.self)
        return CFRunLoopSourceCreate(nil, 0, context.baseAddress)!
    }
    CFRunLoopAddSource(CFRunLoopGetMain(), source, kCFRunLoopCommonModes)
    return source
}

let source = try hostLoopMain()
var done: Set<String> = []
@MainActor func finish(_ what: String) {
    done.insert(what)
    if done.count == 3 { CFRunLoopStop(CFRunLoopGetMain()) }
}

Loop.main.add(
    Loop.Timer(after: .milliseconds(5), isolation: .shared) { _ in
        finish("a timer of Loop.main")
    }, in: .common)
let timer = Timer(timeInterval: 0.005, repeats: false) { _ in
    MainActor.assumeIsolated { finish("a timer of Foundation") }
}
RunLoop.main.add(timer, forMode: .common)
Task { @MainActor in finish("a task of the main actor") }

CFRunLoopRun()
CFRunLoopSourceInvalidate(source)
Loop.main.hosting.end()
for what in done.sorted() { print(what) }
