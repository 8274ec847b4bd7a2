// Closes one descriptor of the library's, or puts another file in its place, and then uses everything.
//
//     ClosedDescriptorProgram                         lists the library's descriptors: a number, and what it is
//     ClosedDescriptorProgram asleep close 3          the third, while the loops sleep
//     ClosedDescriptorProgram awake null|pipe 3       replaces it, while the loop of the thread is awake
//
// It prints the descriptor. A call on that must trap. Otherwise the program says what did not happen, and how often a
// loop waited while there was nothing to do.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The open descriptors. The folder's own is among them.
func openDescriptors() -> Set<Int32> {
    let folder = opendir("/proc/self/fd")!
    defer { closedir(folder) }
    var numbers: Set<Int32> = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if let number = Int32(name), number != dirfd(folder) { numbers.insert(number) }
    }
    return numbers
}

/// What a descriptor is, in the kernel's words.
func kind(of descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = readlink("/proc/self/fd/\(descriptor)", &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}

func makePipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    // Otherwise the child keeps them open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

func consumeByte(_ descriptor: Int32) {
    var byte: UInt8 = 0
    _ = read(descriptor, &byte, 1)
}

/// Starts a program that ends when its input ends.
func startChild(reading input: Int32) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("cat"), nil]
    defer { free(arguments[0]) }
    var child: pid_t = 0
    precondition(posix_spawn(&child, "/bin/cat", &actions, nil, &arguments, environ) == 0)
    return child
}

/// One input of every kind on the loop of a thread, and a port on a loop that this thread hosts.
final class Everything {
    let thread: LoopThread
    let hosted = Loop.current
    let hostedPort: Loop.PortSource
    let port: Loop.PortSource
    let messages: Loop.MessagePort<Int>
    let timers: [Loop.Timer]
    let signals: Loop.SignalSource
    let process: Loop.ProcessSource
    let borrowed: Loop.FileDescriptorSource
    let owned: Loop.FileDescriptorSource

    let borrowedEnds = makePipe()
    let ownedEnds = makePipe()
    let childsInput = makePipe()
    let child: pid_t

    /// What has happened since it was last asked.
    let happened: LoopBound<Set<String>>
    let happenedHere: LoopBound<Int>

    init(before: () -> Void) throws {
        child = startChild(reading: childsInput.reader)
        close(childsInput.reader)
        before()
        thread = try LoopThread(name: "everything")
        let happened = LoopBound<Set<String>>([], on: thread.loop)
        let happenedHere = LoopBound(0, on: hosted)
        (self.happened, self.happenedHere) = (happened, happenedHere)
        signals = try Loop.SignalSource(SIGUSR1) { _, _ in happened.value.insert("signal") }
        hostedPort = try Loop.PortSource { happenedHere.value += $0 }
        port = try Loop.PortSource { _ in happened.value.insert("port") }
        messages = Loop.MessagePort { _ in happened.value.insert("message") }
        timers = [Loop.TimeBase.suspending, .continuous, .wallClock].map { base in
            Loop.Timer(restartableAfter: .seconds(3600), timeBase: base) { _ in happened.value.insert("timer, \(base)")
            }
        }
        process = try Loop.ProcessSource(child) { _, _ in happened.value.insert("process") }
        borrowed = try Loop.FileDescriptorSource(borrowedEnds.reader) { source, _ in
            consumeByte(source.descriptor)
            happened.value.insert("borrowed descriptor")
        }
        owned = try Loop.FileDescriptorSource(owning: ownedEnds.reader) { source, _ in
            consumeByte(source.descriptor)
            happened.value.insert("owned descriptor")
        }
        for item in items { thread.loop.add(item) }
        // A timerfd that is made later would take the place of what was closed.
        try thread.performAndWait { try Loop.current.prepare(.default) }
        hosted.add(hostedPort)
        _ = try hosted.hosting.begin()
    }

    var items: [Loop.Item] { [signals, port, messages, process, borrowed, owned] + timers }

    /// Makes everything happen, and returns what did not.
    func use(endingChild: Bool) throws -> Set<String> {
        var expected: Set<String> = ["port", "message", "signal", "borrowed descriptor", "owned descriptor"]
        port.send()
        messages.send(1)
        for timer in timers {
            timer.nextFireTime = thread.loop.now(timer.timeBase)
            expected.insert("timer, \(timer.timeBase)")
        }
        kill(getpid(), SIGUSR1)
        for ends in [borrowedEnds, ownedEnds] { _ = write(ends.writer, "x", 1) }
        if endingChild {
            close(childsInput.writer)
            var info = siginfo_t()
            // The source may reap it first.
            while waitid(P_PID, id_t(child), &info, Int32(WEXITED | WNOWAIT)) < 0, errno == EINTR {}
            expected.insert("process")
        }
        hostedPort.send()
        try settle()
        let happened = try thread.performAndWait { [happened] in
            defer { happened.value = [] }
            return happened.value
        }
        defer { happenedHere.value = 0 }
        return expected.subtracting(happened).union(happenedHere.value == 1 ? [] : ["hosted port"])
    }

    /// Lets both loops serve what is ready. A pass serves one source.
    private func settle() throws {
        for _ in 0..<30 {
            try thread.performAndWait {}
            hosted.hosting.pass()
        }
        while !thread.loop.isWaiting { sched_yield() }
    }

    /// Adds, changes and removes, and runs in a mode of its own, which needs another epoll set.
    func change() throws {
        borrowed.disarm()
        borrowed.rearm()
        owned.interest = [.read, .readHangUp]
        owned.interest = .read
        let loop = thread.loop
        try thread.performAndWait {
            let timer = Loop.Timer(after: .zero) { _ in }
            let port = try! Loop.PortSource { _ in }
            for item in [timer, port] { loop.add(item, in: "other") }
            port.send()
            loop.run(mode: "other", for: .zero)
            timer.invalidate()
            port.invalidate()
        }
    }

    /// How often the loop of the thread waits while it has nothing to do: a few times at most. A loop that spins does
    /// so thousands of times. On a slow machine either does so less often.
    func waitsInANap() -> Int {
        while !thread.loop.isWaiting { sched_yield() }
        let before = thread.loop.counters
        usleep(20_000)
        let counters = thread.loop.counters.since(before)
        return counters.waits + counters.polls
    }

    /// Takes everything apart.
    func end() throws -> Int {
        for item in items { item.invalidate() }
        // Ready, and nobody's.
        _ = write(borrowedEnds.writer, "x", 1)
        let waits = waitsInANap()
        hostedPort.invalidate()
        hosted.hosting.end()
        thread.stop()
        thread.join()
        return waits
    }
}

func replace(_ descriptor: Int32, by way: String) {
    switch way {
    case "close": close(descriptor)
    case "null":
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(null, descriptor)
        close(null)
    default: dup2(makePipe().writer, descriptor)
    }
}

// A hang ends.
alarm(60)
// A pipe may have lost its reader.
signal(SIGPIPE, SIG_IGN)
var before: Set<Int32> = []
let everything = try Everything { before = openDescriptors() }
let missingBefore = try everything.use(endingChild: false)
precondition(missingBefore.isEmpty, "\(missingBefore) did not happen before any mistake")
// What the source owns is the library's too.
let own = openDescriptors().subtracting(before).union([everything.ownedEnds.reader]).sorted()
let arguments = Array(CommandLine.arguments.dropFirst())
let damaged = arguments.isEmpty ? nil : own[Int(arguments[2])!]
for descriptor in damaged.map({ [$0] }) ?? own { print("\(descriptor)\t\(kind(of: descriptor))") }
// A trap would lose it.
fflush(nil)
if let damaged {
    if arguments[0] == "awake" {
        try everything.thread.performAndWait { replace(damaged, by: arguments[1]) }
    } else {
        replace(damaged, by: arguments[1])
    }
}
let missing = try everything.use(endingChild: true)
print("did not happen: \(missing.sorted().joined(separator: ", "))")
fflush(nil)
try everything.change()
let waits = everything.waitsInANap()
print("waits: \(waits), \(try everything.end())")
