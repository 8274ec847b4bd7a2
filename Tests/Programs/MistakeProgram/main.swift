// Makes one mistake for which the documentation promises a trap, by name. Without a name it lists all of them: the
// name, a tab, and what stderr must say.
//
//     MistakeProgram stall-monitor
//
// The checks run it in a debug build and in a release build, whose `precondition` says nothing.
import Foundation
import RunLoopDiagnostics
import RunLoopKit
import RunLoopRules

struct Mistake {
    let name: String
    let text: String
    let make: @Sendable () throws -> Void
}

/// A loop that belongs to another thread.
func elsewhere() throws -> Loop { try LoopThread(name: "elsewhere").loop }

final class Document: Sendable {}

/// An actor on the loop of a thread.
actor Resident {
    let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    init(_ thread: LoopThread) { self.thread = thread }
}

/// An actor on no loop.
actor Homeless {}

/// An actor that does not hold its loop.
actor Careless {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    init(_ loop: Loop) { unownedExecutor = loop.asUnownedSerialExecutor() }
    private var works = 0

    /// Touches the actor's state: otherwise the optimizer does not enter the actor.
    func work() { works += 1 }
}

/// Closes all eventfds of the process.
func closeEventFDs() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        if target?.contains("eventfd") == true { close(Int32(name)!) }
    }
}

/// Apart, since a function that never returns need not release anything.
@inline(never) func dropLoopWithAJob() {
    let loop = Loop(clock: VirtualClock())
    let careless = Careless(loop)
    Task { await careless.work() }
    while !"\(loop)".contains("1 block posted") { sched_yield() }
}

let mistakes = [
    Mistake(name: "stall-monitor", text: "RunLoopKit: a StallMonitor with the thresholds []") {
        _ = try StallMonitor(thresholds: [])
    },
    Mistake(name: "stall-monitor-zero", text: "RunLoopKit: a StallMonitor with the thresholds [0.0 seconds]") {
        _ = try StallMonitor(thresholds: [.zero])
    },
    Mistake(name: "detector-threshold", text: "RunLoopKit: a FeedbackLoopDetector with the thresholds 0 and 0") {
        _ = FeedbackLoopDetector(threshold: 0)
    },
    Mistake(name: "detector-depth", text: "RunLoopKit: the backtraces of a FeedbackLoopDetector cannot have -1") {
        _ = FeedbackLoopDetector(backtraceDepth: -1)
    },
    Mistake(name: "shared-iterator", text: "RunLoopKit: two tasks wait for the next element of one iterator") {
        let thread = try LoopThread()
        nonisolated(unsafe) let iterator = thread.loop.ticks(every: .seconds(1000)).makeAsyncIterator()
        for _ in 0..<2 {
            Task {
                var own = iterator
                _ = await own.next()
            }
        }
        // A mistake that does not trap ends.
        thread.perform(after: .seconds(20)) { thread.stop() }
        thread.join()
    },
    Mistake(name: "child-without-pipe", text: "has no connection for its output: start it with output: .pipe") {
        let child = try Loop.ChildProcess("true", output: .null) { _, _ in }
        print(child.outputConnection)
    },
    Mistake(name: "run-elsewhere", text: "RunLoopKit: Loop.run was called on a thread that the loop does not") {
        try elsewhere().run()
    },
    Mistake(name: "prepare-elsewhere", text: "RunLoopKit: Loop.prepare(_:) was called on a thread") {
        try elsewhere().prepare(.default)
    },
    Mistake(name: "run-main-elsewhere", text: "RunLoopKit: Loop.main.run was called on a thread that is not the") {
        let thread = try LoopThread()
        thread.perform { Loop.main.run() }
        thread.join()
    },
    Mistake(name: "async-main-elsewhere", text: "RunLoopKit: Loop.runMain was called on a thread that is not the") {
        let thread = try LoopThread()
        thread.perform { Loop.runMain {} }
        thread.join()
    },
    Mistake(name: "async-main-nested", text: "RunLoopKit: Loop.runMain was called inside a run of the main loop") {
        Loop.main.perform { Loop.runMain {} }
        Loop.main.run()
    },
    Mistake(name: "loop-bound", text: "RunLoopKit: a LoopBound<Int> was touched on a thread other than its loop's") {
        let worker = try LoopThread(name: "worker")
        withExtendedLifetime(worker) { print(LoopBound(1, on: worker.loop).value) }
    },
    Mistake(name: "loop-bound-ended", text: "RunLoopKit: a LoopBound<Int> was touched after the end of its loop") {
        let worker = try LoopThread(name: "worker")
        let box = LoopBound(1, on: worker.loop)
        worker.stop()
        worker.join()
        _ = box.value
    },
    Mistake(name: "join-itself", text: "RunLoopKit: LoopThread.join() was called on the thread \"worker\" itself") {
        let thread = try LoopThread(name: "worker")
        thread.perform { thread.join() }
        thread.join()
    },
    Mistake(name: "join-pool", text: "RunLoopKit: LoopThreadPool.join() was called on the pool's own thread") {
        let pool = try LoopThreadPool(count: 1)
        pool.perform { pool.join() }
        pool.join()
    },
    Mistake(
        name: "host-common", text: "RunLoopKit: Loop.hosting.begin(in: common): a loop cannot be hosted in the mode"
    ) {
        _ = try Loop.current.hosting.begin(in: .common)
    },
    Mistake(
        name: "host-twice", text: "RunLoopKit: Loop.hosting.begin(in: default): a loop cannot be hosted in the mode"
    ) {
        _ = (try Loop.current.hosting.begin(), try Loop.current.hosting.begin())
    },
    Mistake(name: "hosted-pass", text: "RunLoopKit: Loop.hosting.pass was called on a loop that is not hosted") {
        Loop.current.hosting.pass()
    },
    Mistake(name: "end-thread-loop", text: "RunLoopKit: Loop.end() was called on a loop that runs or is hosted") {
        Loop.current.end()
    },
    Mistake(name: "method-twice", text: "RunLoopKit: the method \"save\" of Document was declared twice") {
        let methods = (0..<2).map { _ in LimitedMethod<Document, Void>("save") { _, _ in } }
        withExtendedLifetime(methods) {}
    },
    Mistake(name: "mistake", text: "RunLoopKit: The loop refused the timer \"tick\", which is invalid") {
        Loop.mistakeHandling = .trap
        let timer = Loop.Timer(every: .seconds(1), label: "tick") { _ in }
        timer.invalidate()
        Loop.current.add(timer)
    },
    Mistake(name: "forked-child", text: "RunLoopKit: Loop.run was called in a forked child") {
        // `fork` by its symbol: Swift does not import it.
        let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        let loop = Loop.current
        let child = fork()
        if child == 0 { loop.run() }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        exit(status == 0 ? 0 : 1)
    },
    Mistake(name: "end-running", text: "RunLoopKit: Loop.end() was called on a loop that runs or is hosted") {
        let loop = Loop(clock: VirtualClock())
        loop.perform { [unowned loop] in loop.end() }
        loop.run(mode: .default, for: .zero)
    },
    Mistake(name: "join-ring", text: "LoopThread.join(): the threads \"b\" → \"a\" → \"b\" would wait") {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        try a.performAndWait { try b.performAndWait { a.join() } }
    },
    Mistake(name: "drain-pool", text: "RunLoopKit: LoopThreadPool.drainAndWait() was called on the pool's own thread") {
        let pool = try LoopThreadPool(count: 1)
        pool.perform { pool.drainAndWait() }
        pool.join()
    },
    Mistake(name: "drain-pool-for", text: "RunLoopKit: LoopThreadPool.drainAndWait(for:) was called on the pool's") {
        let pool = try LoopThreadPool(count: 1)
        pool.perform { _ = pool.drainAndWait(for: .seconds(1)) }
        pool.join()
    },
    Mistake(name: "main-method", text: "RunLoopKit: the limited method \"save\" belongs to the main actor") {
        let saving = LimitedMethod<Document, Int>("save", isolation: .shared) { _, _ in }
        try LoopThread(name: "worker").performAndWait { saving(Document(), 1) }
    },
    Mistake(name: "main-method-in-job", text: "RunLoopKit: the limited method \"save\" belongs to the main actor") {
        let saving = LimitedMethod<Document, Int>("save", isolation: .shared) { _, _ in }
        let thread = try LoopThread(name: "worker")
        Task(executorPreference: thread.loop.taskExecutor) { saving(Document(), 1) }
        thread.join()
    },
    Mistake(name: "main-rule", text: "RunLoopKit: the limited method \"save\" belongs to the main actor") {
        let saving = LimitedMethod<Document, Int>("save", isolation: .shared) { _, _ in }
        try LoopThread(name: "worker", clock: VirtualClock()).performAndWait {
            let (loop, object) = (Loop.current, Document())
            try saving.limit(for: object, every: .seconds(1), on: loop)
            saving(object, 1)
            loop.run(mode: .default, for: .seconds(2))
        }
    },
    Mistake(name: "isolation-elsewhere", text: "RunLoopKit: code of an actor that lives on a loop was entered") {
        let resident = Resident(try LoopThread())
        let other = try LoopThread()
        other.loop.add(Loop.Timer(after: .zero, isolation: resident) { _, _ in }, in: .default)
        other.join()
    },
    Mistake(name: "isolation-without-loop", text: "has a handler of the actor Homeless, which runs on no loop") {
        let (loop, homeless) = (Loop.current, Homeless())
        loop.add(Loop.Timer(after: .zero, isolation: homeless) { _, _ in }, in: .default)
        withExtendedLifetime(homeless) { loop.run() }
    },
    Mistake(name: "assume-isolated", text: "RunLoopKit: code of an actor that lives on a loop was entered") {
        Resident(try LoopThread()).assumeIsolated { _ in }
    },
    Mistake(name: "precondition-isolated", text: "RunLoopKit: code of an actor that lives on a loop was entered") {
        Resident(try LoopThread()).preconditionIsolated()
    },
    Mistake(name: "loop-with-jobs", text: "RunLoopKit: a loop was deallocated with 1 jobs of Swift concurrency") {
        dropLoopWithAJob()
        // The thread that has posted the job may still retain the loop for a moment.
        while true { pause() }
    },
    Mistake(
        name: "host-in-run", text: "RunLoopKit: Loop.hosting.begin(in: default): a loop cannot be hosted in the mode"
    ) {
        let loop = Loop(clock: VirtualClock())
        loop.perform { [unowned loop] in _ = try? loop.hosting.begin() }
        loop.run(mode: .default, for: .zero)
    },
    Mistake(
        name: "host-ended", text: "RunLoopKit: Loop.hosting.begin(in: default): a loop cannot be hosted in the mode"
    ) {
        let loop = Loop(clock: VirtualClock())
        loop.end()
        _ = try loop.hosting.begin()
    },
    Mistake(name: "host-elsewhere", text: "RunLoopKit: Loop.hosting.begin was called on a thread that the loop does") {
        _ = try elsewhere().hosting.begin()
    },
    Mistake(name: "pass-elsewhere", text: "RunLoopKit: Loop.hosting.pass was called on a thread that the loop does not")
    {
        let loop = Loop(clock: VirtualClock())
        _ = try loop.hosting.begin()
        try LoopThread().performAndWait { _ = loop.hosting.pass() }
    },
    Mistake(name: "watch-itself", text: "an epoll set, such as the descriptor of a hosted loop, cannot watch") {
        let loop = Loop(clock: VirtualClock())
        loop.add(try Loop.FileDescriptorSource(try loop.hosting.begin()) { _, _ in })
    },
    Mistake(name: "watch-each-other", text: "(ELOOP); an epoll set, such as the descriptor of a hosted loop, cannot") {
        let loops = [Loop(clock: VirtualClock()), Loop(clock: VirtualClock())]
        let descriptors = try loops.map { try $0.hosting.begin() }
        for (loop, descriptor) in zip(loops, descriptors.reversed()) {
            loop.add(try Loop.FileDescriptorSource(descriptor) { _, _ in })
        }
    },
    Mistake(name: "main-never-runs", text: "A call of the debounce \"save\" has been due for two seconds on Loop.main")
    {
        Loop.mistakeHandling = .trap
        let save = Debounce<Int>(interval: .milliseconds(1), on: .main, label: "save") { _ in }
        save(1)
        while true { pause() }
    },
    Mistake(name: "handed-to-main", text: "A call of the throttle \"save\" has been due for two seconds on Loop.main") {
        Loop.mistakeHandling = .trap
        let save = Throttle<Int>(interval: .milliseconds(1), on: .main, label: "save") { _ in }
        try LoopThread().performAndWait { _ = save(1) }
        while true { pause() }
    },
    Mistake(name: "closed-eventfd", text: "Bad file descriptor (EBADF); the program has closed a descriptor") {
        let thread = try LoopThread()
        while !thread.loop.isWaiting { sched_yield() }
        closeEventFDs()
        // A loop that is about to sleep takes a block without a write. One that sleeps needs it.
        for _ in 0..<1_000 {
            try thread.performAndWait {}
            while !thread.loop.isWaiting { sched_yield() }
        }
    },
]

if CommandLine.arguments.count < 2 {
    for mistake in mistakes { print("\(mistake.name)\t\(mistake.text)") }
} else {
    try mistakes.first { $0.name == CommandLine.arguments[1] }!.make()
    print("nothing trapped")
}
