import RunLoopKit

final class Sampler: Sendable {
    private let thread: LoopThread
    private let timer: Loop.Timer

    init(_ sample: @escaping @Sendable () -> Void) throws {
        thread = try LoopThread(name: "sampler")
        timer = Loop.Timer(every: .milliseconds(10)) { _ in sample() }
        thread.loop.add(timer, in: .common)
    }

    deinit {
        timer.invalidate()  // the loop releases what its handler captures
        thread.stop()
        if !thread.isCurrent { thread.join() }  // now no handler runs
        print("the sampler and its thread have ended")
    }
}

let main = Loop.main
let port = try Loop.PortSource { _ in main.stop() }
main.add(port)

var sampler: Sampler? = try Sampler { port.send() }
main.run()  // until the first sample
print("a sample")
sampler = nil
