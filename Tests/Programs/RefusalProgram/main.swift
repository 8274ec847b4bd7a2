// What the kernel refuses once must work later, in the same process.
//
//     RefusalProgram                          lists what can be made: a name, and the resource that it needs
//     RefusalProgram descriptors port         the process has no descriptor left, then one, then two, then all
//     RefusalProgram threads pool             it may start no thread, and then may
//     RefusalProgram none port                for comparison, nothing is refused
//     RefusalProgram trap run                 what has no caller to throw to
//     RefusalProgram timers                   a thread's loop can make no timerfd at first, and then can
//     RefusalProgram unrun                    the thread that looks for loops that never run is refused once
//
// It prints each error, whether the thing works at last, and how many descriptors it keeps.
import RunLoopDiagnostics
import RunLoopKit

#if canImport(Glibc)
    import Glibc
    typealias Resource = __rlimit_resource_t
    let descriptors = Resource(RLIMIT_NOFILE.rawValue)
    let threads = Resource(6)  // RLIMIT_NPROC, hidden from Swift.
#elseif canImport(Musl)
    import Musl
    typealias Resource = Int32
    let descriptors = RLIMIT_NOFILE
    let threads: Resource = 6
#elseif canImport(Android)
    import Android
    typealias Resource = Int32
    let descriptors = RLIMIT_NOFILE
    let threads: Resource = 6
#endif

@_silgen_name("prctl") func prctl(_ option: Int32, _ value: UInt, _: UInt = 0, _: UInt = 0, _: UInt = 0) -> Int32

/// Sets a soft limit; nil raises it as far as the hard one permits.
func setLimit(_ resource: Resource, _ value: Int32?) {
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = value.map { rlim_t($0) } ?? limit.rlim_max
    precondition(setrlimit(resource, &limit) == 0)
}

/// Limits this process to opening `count` more descriptors.
func limitDescriptors(toFree count: Int) {
    setLimit(descriptors, nil)
    // The kernel hands out the lowest free numbers, and the limit is on the numbers.
    let probes = (0...count).map { _ in dup(0) }
    for probe in probes { close(probe) }
    setLimit(descriptors, probes[count])
}

/// Root may start threads whatever the limit is.
func dropRoot() {
    guard getuid() == 0 else { return }
    precondition(setgid(65534) == 0 && setuid(65534) == 0)
    // PR_SET_DUMPABLE: otherwise /proc/self belongs to root.
    precondition(prctl(4, 1) == 0)
}

/// Nil if not even the folder can be opened.
func openDescriptorCount() -> Int? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 3  // ".", ".." and the folder's own.
}

/// Something that is made, used, and given up.
struct Thing {
    let name: String
    let needs: [String]
    let make: () throws -> Void

    init(_ name: String, needs: String..., make: @escaping () throws -> Void) {
        (self.name, self.needs, self.make) = (name, needs, make)
    }
}

var ends: [Int32] = [-1, -1]
precondition(pipe(&ends) == 0)
/// Its kind is neither a socket nor a pipe.
let terminal = open("/dev/ptmx", O_RDWR | O_CLOEXEC)
/// A source that ended would close the terminal.
var kept: [Loop.Item] = []

let listenerAtStart = try Loop.Listener(.tcp(.loopback, port: 0))

func add(_ item: Loop.Item) {
    precondition(Loop.current.add(item, in: "things"))
    item.invalidate()
}

/// The end of a monitor does not wait for that of its thread.
func useMonitor() throws {
    do {
        let monitor = try StallMonitor { _ in }
        monitor.watch(Loop.current, name: "main")
        precondition(monitor.metrics(of: Loop.current) != nil)
    }
    while openDescriptorCount() != descriptorsAtStart { sched_yield() }
}

let things = [
    Thing("port", needs: "descriptors") { add(try Loop.PortSource { _ in }) },
    Thing("borrowed", needs: "descriptors") { add(try Loop.FileDescriptorSource(ends[0]) { _, _ in }) },
    Thing("owned", needs: "descriptors") { kept.append(try Loop.FileDescriptorSource(owning: terminal) { _, _ in }) },
    Thing("listener", needs: "descriptors") { add(try Loop.Listener(.tcp(.loopback, port: 0)) { _, _ in }) },
    Thing("connection", needs: "descriptors") {
        add(try Loop.Connection(connectingTo: listenerAtStart.address!) { _, _ in })
    },
    Thing("signal", needs: "descriptors") {
        // It has its old effect, whether or not the source was made.
        defer { precondition(signal(SIGUSR1, SIG_DFL) == nil) }
        add(try Loop.SignalSource(SIGUSR1) { _, _ in })
    },
    Thing("process", needs: "descriptors") { add(try Loop.ProcessSource(getpid()) { _, _ in }) },
    Thing("prepare", needs: "descriptors") { try Loop.current.prepare("prepared") },
    Thing("host", needs: "descriptors") {
        _ = try Loop.current.hosting.begin(in: "hosted")
        Loop.current.hosting.pass()
        Loop.current.hosting.end()
    },
    Thing("thread", needs: "descriptors", "threads") {
        let thread = try LoopThread()
        let isThere = try thread.performAndWait { thread.isCurrent }
        precondition(isThere)
        thread.stop()
        thread.join()
    },
    Thing("pool", needs: "descriptors", "threads") {
        let pool = try LoopThreadPool(count: 3)
        pool.stop()
        pool.join()
    },
    Thing("stall-monitor", needs: "descriptors", "threads") { try useMonitor() },
    Thing("dump", needs: "descriptors", "threads") { try Loop.dumpOnSignal(SIGUSR2) },
]

/// What traps, since there is no caller to throw to.
let traps: [(name: String, resource: String, make: () throws -> Void)] = [
    ("run", "descriptors", { Loop.current.run(mode: .default, for: .zero) }),
    ("continuous", "descriptors", { Loop.current.add(Loop.Timer(every: .seconds(1), timeBase: .continuous) { _ in }) }),
    ("wall-clock", "descriptors", { Loop.current.add(Loop.Timer(every: .seconds(1), timeBase: .wallClock) { _ in }) }),
    ("last-resort", "threads", { endedLoop.add(job: {}) }),
]

/// A loop whose thread has ended, with the executor that a task may still prefer.
struct EndedLoop {
    let loop: Loop

    init() throws {
        let thread = try LoopThread()
        loop = thread.loop
        thread.stop()
        thread.join()
    }

    func add(job: @escaping @Sendable () -> Void) {
        let done = Done()
        Task(executorPreference: loop.taskExecutor) {
            job()
            done.open()
        }
        done.wait()
    }
}

/// Opened once.
final class Done: @unchecked Sendable {
    private let ends: [Int32] = {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0)
        return ends
    }()

    func open() { close(ends[1]) }

    func wait() {
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) < 0 {}
        close(ends[0])
    }
}

/// Gives the loop of a task's thread its first work, a block that nobody runs.
///
/// The limit holds on that thread only while nothing else starts threads: Dispatch would try again and again.
func postToTasksLoop(_ priority: TaskPriority, limitingThreads: Bool) {
    let done = Done()
    let resource = threads
    Task.detached(priority: priority) {
        if limitingThreads { setLimit(resource, 0) }
        _ = Loop.current.perform {}
        if limitingThreads { setLimit(resource, nil) }
        done.open()
    }
    done.wait()
}

/// The thread that looks for loops that never run cannot be started for the first loop, and is for the second.
func watchUnrunLoops() {
    let reports = Done()
    nonisolated(unsafe) var count = 0  // Changed on one thread.
    Loop.mistakeHandling = .call { _ in
        count += 1
        if count == 2 { reports.open() }
    }
    postToTasksLoop(.medium, limitingThreads: true)
    postToTasksLoop(.background, limitingThreads: false)
    reports.wait()
    print("both are reported")
}

/// The first timer of a thread's loop comes when the process has no descriptor left.
func useTimersOfThread() throws {
    let thread = try LoopThread()
    /// Adds three timers, the last one first, so that a sleep that waits for one is shortened to the next.
    func fire(_ done: Done) throws {
        let start = ContinuousClock.now
        let delays: [Duration] = [.milliseconds(60), .milliseconds(40), .milliseconds(20)]
        for (index, delay) in delays.enumerated() {
            while !thread.loop.isWaiting { sched_yield() }
            thread.perform(after: delay) {
                precondition(ContinuousClock.now - start >= delay)
                if index == 0 { done.open() }
            }
        }
        done.wait()
        let ran = try thread.performAndWait { Loop.current.run(mode: "none", for: .zero) }
        print("fired, \(ran), a timerfd: \(thread.loop.counters.timerArms > 0)")
    }
    // Made while there are descriptors.
    let done = [Done(), Done(), Done()]
    while !thread.loop.isWaiting { sched_yield() }
    // The standard streams have all permitted numbers, whatever other threads close meanwhile.
    setLimit(descriptors, 3)
    try fire(done[0])
    // A precise timer spins only after a timerfd.
    let timer = Loop.Timer(after: .milliseconds(20)) { _ in done[1].open() }
    timer.isPrecise = true
    thread.loop.add(timer)
    done[1].wait()
    print("precise, a timerfd: \(thread.loop.counters.timerArms > 0)")
    limit("descriptors", nil)
    try fire(done[2])
}

func limit(_ resource: String, _ free: Int?) {
    if resource == "descriptors" {
        if let free { limitDescriptors(toFree: free) } else { setLimit(descriptors, nil) }
    } else {
        // One with more would be started at once, or not at all.
        setLimit(threads, free.map { _ in 0 })
    }
}

func findLimits(of thing: Thing, _ resource: String) throws {
    let steps = resource == "none" ? 0..<0 : resource == "threads" ? 0..<2 : 0..<30
    var hasWorked = resource == "none"
    for free in steps where !hasWorked {
        limit(resource, free)
        do {
            try thing.make()
            hasWorked = true
        } catch {
            print("refused: \(error)")
        }
        limit(resource, nil)
    }
    if resource != "descriptors" { try thing.make() }
    try thing.make()
    // Waits for all threads that are about to begin. A thread of a sanitizer's may be in its way.
    _ = try? Loop.SignalSource(SIGHUP) { _, _ in }
    print("works")
    // Others may have opened some before the program began.
    print("descriptors: \(openDescriptorCount()! - descriptorsAtStart!)")
}

// A hang ends.
alarm(60)
dropRoot()
let endedLoop = try EndedLoop()
_ = Loop.current
let descriptorsAtStart = openDescriptorCount()
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case nil:
    for thing in things { for resource in thing.needs { print("\(resource)\t\(thing.name)") } }
case "trap":
    let trap = traps.first { $0.name == arguments[1] }!
    limit(trap.resource, 0)
    try trap.make()
    print("nothing trapped")
case "timers": try useTimersOfThread()
case "unrun": watchUnrunLoops()
default: try findLimits(of: things.first { $0.name == arguments[1] }!, arguments[0])
}
