// A process that forks without exec. The argument selects what the child does with its parent's loop; the parent then
// shows that its loop works as before.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Hidden from Swift, because Swift concurrency does not work in a child that does not call exec.
@_silgen_name("fork") func fork() -> Int32

/// Unbuffered, also in a child that ends with `_exit`.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    precondition(write(STDOUT_FILENO, bytes, bytes.count) == bytes.count)
}

func makePipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    return (ends[0], ends[1])
}

/// The messages of the parent's handlers after the child's end.
nonisolated(unsafe) var heard: Set<String> = []
nonisolated(unsafe) var hasChildEnded = false

func hear(_ what: String) {
    guard hasChildEnded, heard.insert(what).inserted else { return }
    say("parent: \(what)")
    if heard.count == 6 { loop.stop() }
}

let choice = CommandLine.arguments.dropFirst().first ?? ""

// Before the parent uses the library, as daemons do.
if choice == "first" { forkChild { beDaemon() } }

if choice == "busy" {
    let numbers = CommandLine.arguments.dropFirst(2).map { Int($0)! }
    BusyParent.makeChildren(numbers[0], patience: UInt32(numbers[1]))
}

/// A child whose parent had no loops is like any other process; so is its own child, with other loops.
func beDaemon() {
    let main = Loop.main
    say("child: is current \(Loop.current === main)")
    main.perform { say("child: block") }
    Task { @MainActor in
        say("child: job")
        main.add(
            Loop.Timer(after: .milliseconds(1)) { _ in
                say("child: timer")
                main.stop()
            })
    }
    main.run()
    forkChild {
        say("grandchild: refused \(!main.perform {}), own \(Loop.current !== main)")
        Loop.current.perform { say("grandchild: block") }
        Loop.current.run(for: .zero)
    }
    main.perform { say("child: goes on") }
    main.run(for: .zero)
}

/// A daemon, or the child of one, whose parent has used its main loop and the main actor: it has its own.
func useMainLoop(of name: String, besides parents: Loop) {
    say("\(name): own \(Loop.main !== parents), current \(Loop.current === Loop.main)")
    Loop.main.perform { say("\(name): block") }
    Loop.main.add(
        Loop.Timer(after: .milliseconds(1), isolation: .shared) { _ in
            say("\(name): timer")
            Task { @MainActor in
                say("\(name): job")
                Loop.main.stop()
            }
        }, in: .common)
    Loop.main.run()
}

/// The parent's loop: on its initial thread, the main loop; otherwise a thread's.
let loop = Loop.current
let pipeEnds = makePipe()
let port = try Loop.PortSource { hear("port \($0)") }
let reader = try Loop.FileDescriptorSource(pipeEnds.reader) { source, _ in
    var byte: UInt8 = 0
    hear("read \(read(source.descriptor, &byte, 1))")
}
let messages = Loop.MessagePort<Int> { hear("message \($0)") }
let source0 = Loop.Source0(cancel: { _, _ in say("source0 leaves") }, perform: { hear("source0") })
let inherited: [Loop.Item] = [
    try Loop.PortSource(label: "inherited") { _ in }, try Loop.SignalSource(SIGUSR1, label: "inherited") { _, _ in },
    try Loop.FolderSource("/", label: "inherited") { _, _ in },
]
let debounce = Debounce<Int>(interval: .seconds(1000), on: loop) { _ in say("never") }
let throttle = Throttle<Int>(interval: .seconds(1000), on: loop) { _ in say("never") }
let keyed = KeyedDebounce<Int, Int>(interval: .seconds(1000), on: loop) { _, _ in say("never") }
let queue = PacedQueue<Int>(1, per: .seconds(1000), capacity: 4, on: loop) { _ in say("never") }
let timer = Loop.Timer(every: .milliseconds(20)) { _ in hear("timer") }

/// The action of each child; a child whose action returns ends with `_exit`.
let children: [String: () -> Void] = [
    "invalidate": {
        for item in [port, reader, messages, source0, timer] { item.invalidate() }
        say("child: invalidated")
    },
    "run": { loop.run(mode: .default, for: .zero) },
    "send": {
        port.send()
        messages.send(1)
        source0.signal()
        loop.wakeUp()
        loop.stop()
        say("child: perform \(loop.perform { say("never") }), add \(loop.add(Loop.Observer { _, _ in }))")
        say("child: again \(loop.perform { say("never") }), end \(loop.onEnd {} != nil)")
    },
    // Those that would take what is the parent's; and limiters, whose actions no loop of the child runs.
    "inherited": {
        Loop.mistakeHandling = .call { say("child: \($0)") }
        let own = Loop.current
        say("child: add \(inherited.map { own.add($0) })")
        say("child: debounce \(debounce(1)), throttle \(throttle(1)), \(throttle(2)), keyed \(keyed(1, for: 1))")
        say("child: queue \(queue(1)), flush \(debounce.flush())")
    },
    "retime": {
        timer.nextFireTime = .distantFuture
        loop.add(Loop.Timer(after: .seconds(1000)) { _ in }, in: .default)
        reader.disarm()
        reader.rearm()
        say("child: changed")
    },
    // The child's own loop works: it has descriptors of its own.
    "anew": {
        let own = Loop.current
        own.add(
            Loop.Timer(after: .milliseconds(1)) { _ in
                say("child: timer")
                own.stop()
            })
        own.perform { say("child: block") }
        say("child: own \(own !== loop), \(own.run())")
        do {
            let worker = try LoopThread(name: "child's")
            say("child: worker \(try worker.performAndWait { 7 })")
            worker.stop()
            worker.join()
        } catch {
            say("child: \(error)")
        }
    },
    "main": {
        useMainLoop(of: "child", besides: loop)
        let main = Loop.main
        forkChild { useMainLoop(of: "grandchild", besides: main) }
        Task { @MainActor in
            say("child: goes on")
            Loop.main.stop()
        }
        Loop.main.run()
    },
    // The parent's thread does not exist in the child: there is nothing to wait for and nothing to stop.
    "thread": {
        worker?.stop()
        say("child: perform \(worker!.perform {})")
        worker?.join()
        worker = nil
        say("child: joined")
        // Another thread of the parent's holds its lock.
        let refuses = !pool!.perform {} && !pool!.perform(for: 1) {}
        say("child: pool \(refuses ? "refuses" : "accepts")")
        pool!.drainAndWait()
        say("child: drained")
    },
]
nonisolated(unsafe) var worker: LoopThread?
nonisolated(unsafe) var pool: LoopThreadPool?

/// A thread that holds the lock of a pool for a while. With plain atomics there are no points to stop it at.
final class Holder: @unchecked Sendable {
    private let pool: LoopThreadPool
    #if DEBUG && !PLAIN_ATOMICS
        private let thread = try! LoopThread(name: "holder")
        private let (holds, letsGo) = (makePipe(), makePipe())
    #endif

    init(of pool: LoopThreadPool) { self.pool = pool }

    /// Returns when the lock is held.
    func hold() {
        #if DEBUG && !PLAIN_ATOMICS
            thread.perform { [self] in
                // A thread that waits for the lock passes more points than one that does not.
                var all: Int
                repeat {
                    all = points { _ in }
                } while points({ [self, all] point in if point == all { stop() } }) < all
            }
            var byte: UInt8 = 0
            _ = read(holds.reader, &byte, 1)
        #endif
    }

    func letGo() {
        #if DEBUG && !PLAIN_ATOMICS
            var byte: UInt8 = 0
            _ = write(letsGo.writer, &byte, 1)
        #endif
    }

    #if DEBUG && !PLAIN_ATOMICS
        /// Takes the lock and gives it back, which is the last point. Returns how many points there are.
        private func points(_ body: @escaping @Sendable (_ point: Int) -> Void) -> Int {
            let count = Count()
            let plan = Faults(
                nil,
                atPoint: {
                    count.value += 1
                    body(count.value)
                })
            _ = plan.whileArmed { pool.unfinished }
            return count.value
        }

        private final class Count: @unchecked Sendable { var value = 0 }

        private func stop() {
            var byte: UInt8 = 0
            _ = write(holds.writer, &byte, 1)
            _ = read(letsGo.reader, &byte, 1)
        }
    #endif
}

func forkChild(_ body: () -> Void) {
    let child = fork()
    precondition(child >= 0)
    if child == 0 {
        body()
        _exit(0)
    }
    wait(for: child)
}

/// Waits until a thread sleeps in its loop. A thread that runs may hold locks of Swift's runtime, which the child would
/// then find locked forever.
func waitUntilAsleep(_ thread: LoopThread) {
    let number = try! thread.performAndWait {
        var path = [CChar](repeating: 0, count: 64)
        precondition(readlink("/proc/thread-self", &path, 63) > 0)
        return path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }.split(separator: "/").last!
    }
    while true {
        sched_yield()
        guard thread.loop.isWaiting, let file = fopen("/proc/self/task/\(number)/stat", "r") else { continue }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, 256, file) != nil else { continue }
        // The state follows the name, which is in parentheses.
        if line.withUnsafeBufferPointer({ String(cString: $0.baseAddress!) }).contains(") S ") { return }
    }
}

func wait(for child: Int32) {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    say(status == 0 ? "child ended" : status & 0x7F != 0 ? "child ended by a signal" : "child failed: \(status)")
}

/// The parent continues: every item in its loop works, and a run of it returns.
func goOn() {
    hasChildEnded = true
    for item in [port, reader, messages, source0, timer] { loop.add(item) }
    port.send()
    messages.send(2)
    source0.signal()
    var byte: UInt8 = 7
    precondition(write(pipeEnds.writer, &byte, 1) == 1)
    loop.perform { hear("block") }
    loop.run()
}

for item in [port, reader, messages, source0, timer] { loop.add(item) }
switch choice {
case "return":
    // A child that returns from the handler that forked it would run its parent's loop: it would call the next
    // handlers, and take the wake-up of its parent's main queue.
    let box = Box()
    loop.perform {
        loop.perform {
            // The next pass serves it, because a run begins without checking the main queue.
            loop.perform { forkHere(box) }
        }
    }
    loop.run(mode: .default, for: .seconds(5))
case "piece":
    // The same for a piece of a pool: the child would run the next ones.
    let forking = try LoopThreadPool(count: 1)
    let box = Box()
    forking.perform {
        forking.perform { say("\(box.name): next piece") }
        box.child = fork()
        if box.child != 0 { wait(for: box.child) }
    }
    // The second one waits for the piece that the first has handed over.
    for _ in 0..<2 { forking.drainAndWait() }
case "job":
    // The same for a job of Swift concurrency.
    let box = Box()
    let executor = loop.taskExecutor
    Task(executorPreference: executor) {
        box.child = fork()
        if box.child != 0 { wait(for: box.child) }
    }
    Task(executorPreference: executor) {
        say("\(box.name): next job")
        loop.stop()
    }
    loop.run()
case "keyed", "awaited":
    // The same for pieces that are finished by the library, with a lock that another thread of the parent's holds.
    let forking = try LoopThreadPool(count: 1)
    let box = Box()
    let holder = Holder(of: forking)
    let begins = makePipe()
    var byte: UInt8 = 0
    let piece: @Sendable () -> Void = {
        var byte: UInt8 = 0
        _ = write(begins.writer, &byte, 1)
        holder.hold()
        box.child = fork()
        guard box.child != 0 else {
            // One that waits for the lock ends, too.
            alarm(60)
            return
        }
        holder.letGo()
        wait(for: box.child)
    }
    if choice == "keyed" { forking.perform(for: 1, piece) } else { Task.detached { try await forking.run(piece) } }
    _ = read(begins.reader, &byte, 1)
    forking.drainAndWait()
case "first": break
case "backtrace": try BacktraceRequest.makeChild()
case "interrupted backtrace": try InterruptedRequest.makeChild()
case "main":
    useMainLoop(of: "parent", besides: Loop(clock: VirtualClock()))
    forkChild(children[choice]!)
    Task { @MainActor in
        say("parent: job again")
        loop.stop()
    }
    loop.run()
case "worker":
    // libdispatch serves its main queue on the thread that called main, which the child lacks.
    loop.run(mode: .default, for: .milliseconds(1))
    let forking = try LoopThread(name: "forking")
    try forking.performAndWait {
        forkChild {
            say("child: own \(Loop.main !== loop), current \(Loop.current === Loop.main)")
            Loop.main.perform { say("child: block") }
            Loop.main.add(Loop.Timer(after: .milliseconds(1)) { _ in say("child: timer") })
            Loop.main.run()
        }
    }
    forking.stop()
    forking.join()
case "thread":
    worker = try LoopThread(name: "parent's")
    waitUntilAsleep(worker!)
    // Its job is under way until the child has ended.
    pool = try LoopThreadPool(count: 1)
    let (begins, ends) = (makePipe(), makePipe())
    pool!.perform {
        var byte: UInt8 = 0
        _ = write(begins.writer, &byte, 1)
        _ = read(ends.reader, &byte, 1)
    }
    var byte: UInt8 = 0
    _ = read(begins.reader, &byte, 1)
    let holder = Holder(of: pool!)
    holder.hold()
    forkChild(children[choice]!)
    holder.letGo()
    _ = write(ends.writer, &byte, 1)
    pool!.drainAndWait()
    say("parent: worker \(try worker!.performAndWait { 7 })")
default:
    // Makes the loop's descriptors and arms its timerfd.
    loop.run(mode: .default, for: .milliseconds(1))
    forkChild(children[choice]!)
}
goOn()

/// Forks in a handler, from which the child returns.
func forkHere(_ box: Box) {
    Task { @MainActor in
        say("\(box.name): job")
        loop.stop()
    }
    loop.perform { say("\(box.name): next block") }
    box.child = fork()
    if box.child != 0 { wait(for: box.child) }
}

final class Box: @unchecked Sendable {
    var child: Int32 = -1
    var name: String { child == 0 ? "child" : "parent" }
}
