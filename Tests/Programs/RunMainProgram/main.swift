// Loop.runMain, in the cases that its argument names. Everything is printed on the initial thread, or says so.
import Dispatch
import RunLoopDiagnostics
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// State of the main actor, which the handlers of "handlers" touch.
@MainActor final class Heard {
    private var names: Set<String> = []
    private var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?

    func add(_ name: String) {
        names.insert(Loop.main.isOnOwnThread ? name : "\(name), on another thread")
        if let waiter, names.count == waiter.count {
            self.waiter = nil
            waiter.continuation.resume()
        }
    }

    func wait(for count: Int) async {
        if names.count < count { await withCheckedContinuation { waiter = (count, $0) } }
    }

    var all: [String] { names.sorted() }
}

/// Starts a child.
func spawn(_ command: [String], _ attributes: UnsafePointer<posix_spawnattr_t>?) -> pid_t {
    let arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    precondition(posix_spawn(&child, command[0], nil, attributes, arguments, nil) == 0)
    return child
}

/// A step of the program, and whether it runs on the initial thread.
@Sendable func say(_ text: String) { print(Loop.main.isOnOwnThread ? text : "\(text), on another thread") }

struct Refusal: Error {}

switch CommandLine.arguments.dropFirst().first {
case "result":
    let heard = Heard()
    let status: Int32 = Loop.runMain {
        say("begins")
        let timer = Loop.Timer(after: .milliseconds(1), isolation: .shared) { _ in
            say("timer")
            heard.add("timer")
        }
        Loop.main.add(timer, in: .common)
        await heard.wait(for: 1)
        say("has waited")
        await withCheckedContinuation { continuation in
            DispatchQueue.main.async {
                say("main queue")
                continuation.resume()
            }
        }
        await Task.detached { print("elsewhere: \(!Loop.main.isOnOwnThread)") }.value
        say("ends")
        return 3
    }
    exit(status)

case "error":
    do {
        try Loop.runMain { () async throws(Refusal) in
            await Task.yield()
            throw Refusal()
        }
    } catch {
        say("\(error)")
    }

case "stop":
    // Usable before the first suspension, since no other thread exists yet.
    let signal = try Loop.SignalSource(SIGTERM) { _, _ in
        say("signal")
        Loop.main.stop()
    }
    Loop.main.add(signal, in: .common)
    Loop.runMain {
        kill(getpid(), SIGTERM)
        do {
            try await Task.sleep(for: .seconds(3600))
        } catch {
            say("cancelled")
        }
        // The loop still serves what the body needs to clean up.
        await Task.detached {}.value
        say("cleaned up")
    }
    say("returned")

case "until finished":
    Loop.main.add(
        Loop.Timer(after: .milliseconds(1)) { _ in
            say("timer")
            DispatchQueue.main.async {
                say("job")
                Loop.main.perform { say("block") }
            }
        })
    say("\(Loop.main.runUntilFinished())")

    // A block takes the last item away; a mode that is not common has no jobs.
    let last = Loop.Timer(after: .seconds(3600)) { _ in }
    Loop.main.add(last, in: "other")
    Loop.main.perform(in: "other") { last.invalidate() }
    say("\(Loop.main.runUntilFinished(in: "other"))")
    Loop.mistakeHandling = .trap
    say("\(Loop.main.runUntilFinished(in: "never used"))")

    Loop.main.add(try Loop.PortSource { _ in })
    DispatchQueue.main.async { Loop.main.stop() }
    say("\(Loop.main.runUntilFinished())")

case "nested":
    let heard = Heard()
    Loop.runMain {
        let timer = Loop.Timer(after: .zero, isolation: .shared) { _ in
            heard.add("timer")
            // The body ends inside this run.
            say("nested run: \(Loop.main.run(mode: .default, for: .seconds(3600)))")
        }
        Loop.main.add(timer, in: .common)
        // The main actor is inside the handler: this continues in the nested run.
        await heard.wait(for: 1)
        say("body ends")
    }
    say("returned")

case "nested in a block":
    // The body ends inside this run, which takes the wake-up for that.
    Loop.main.perform { say("nested run: \(Loop.main.run(mode: .default, for: .seconds(3600)))") }
    Loop.runMain { say("body ends") }
    say("returned")

case "nested in an observer":
    Loop.main.add(
        Loop.Observer(.beforeTimers, repeats: false) { _, _ in
            say("nested run: \(Loop.main.run(mode: .default, for: .seconds(3600)))")
        })
    Loop.runMain { say("body ends") }
    say("returned")

case "at once":
    Loop.mistakeHandling = .call { say("\($0)") }
    func timer(_ label: String) -> Loop.Timer { Loop.Timer(after: .seconds(1000), label: label) { _ in } }
    Loop.main.add(timer("earlier"))
    Loop.runMain {
        Loop.main.add(timer("left"))
        let background = timer("background")
        background.keepsRunsGoing = false
        Loop.main.add(background)
    }
    try Loop.runMain {
        Loop.main.add(timer("waited for"))
        try await Task.sleep(for: .milliseconds(1))
    }
    struct Failure: Error {}
    do {
        try Loop.runMain {
            Loop.main.add(timer("of a failure"))
            throw Failure()
        }
    } catch {
        say("\(error)")
    }

case "second stop":
    let (isReported, stops) = (DispatchSemaphore(value: 0), Loop.Source0 { Loop.main.stop() })
    Loop.mistakeHandling = .call {
        say("\($0)")
        isReported.signal()
    }
    Loop.main.add(stops)
    Loop.runMain {
        stops.signal()
        await withTaskCancellationHandler {
            // The first stop is heard of, and the body goes on.
            await Task.detached { isReported.wait() }.value
        } onCancel: {
            say("cancelled")
            // That of a user in a hurry is not reported.
            stops.signal()
            Loop.main.perform(after: .milliseconds(2001)) { stops.signal() }
        }
    }
    say("returned")

case "twice":
    say("\(Loop.runMain { 1 } + Loop.runMain { 2 })")

case "handlers":
    // First, before there are other threads.
    let heard = Heard()
    let signal = try Loop.SignalSource(SIGUSR1, isolation: .shared) { _, _ in heard.add("signal") }
    try Loop.runMain {
        let loop = Loop.main
        let source0 = Loop.Source0(isolation: .shared) { heard.add("source 0") }
        let port = try Loop.PortSource(isolation: .shared) { _ in heard.add("port") }
        let messages = Loop.MessagePort<String>(isolation: .shared) { heard.add($0) }
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        let pipe = try Loop.FileDescriptorSource(owning: ends[0], isolation: .shared) { source, ready in
            heard.add("pipe, \(ready)")
            source.invalidate()
        }
        let duplicate = try Loop.FileDescriptorSource(ends[1], interest: .write, isolation: .shared) { source, _ in
            heard.add("descriptor")
            source.invalidate()
        }
        let child = spawn(["/bin/true"], nil)
        let items: [Loop.Item] = [
            signal, source0, port, messages, pipe, duplicate,
            try Loop.ProcessSource(child, isolation: .shared) { _, exit in heard.add("process, \(exit)") },
            Loop.Timer(after: .zero, isolation: .shared) { _ in heard.add("timer after") },
            Loop.Timer(at: loop.now, isolation: .shared) { _ in heard.add("timer at") },
            Loop.Timer(restartableAfter: .zero, isolation: .shared) { firing in
                heard.add("timer restartable")
                firing.timer.invalidate()
            },
            Loop.Timer(every: .milliseconds(1), isolation: .shared) { firing in
                heard.add("timer every")
                firing.timer.invalidate()
            },
            Loop.Observer(.beforeTimers, isolation: .shared) { observer, _ in
                heard.add("observer")
                observer.invalidate()
            },
        ]
        for item in items { precondition(loop.add(item, in: .common)) }
        loop.perform(isolation: .shared) { heard.add("block") }
        let debounce = Debounce<String>(interval: .milliseconds(1), isolation: .shared) { heard.add($0) }
        let throttle = Throttle<String>(interval: .milliseconds(1), isolation: .shared) { heard.add($0) }
        let keyedDebounce = KeyedDebounce<Int, String>(interval: .milliseconds(1), isolation: .shared) {
            heard.add("\($1) \($0)")
        }
        let keyedThrottle = KeyedThrottle<Int, String>(interval: .milliseconds(1), isolation: .shared) {
            heard.add("\($1) \($0)")
        }
        let collectingDebounce = Debounce<Int>.collecting(interval: .milliseconds(1), isolation: .shared) {
            heard.add("debounce, all of \($0)")
        }
        let collectingThrottle = Throttle<Int>.collecting(
            interval: .milliseconds(1), edges: .trailing, isolation: .shared
        ) { heard.add("throttle, all of \($0)") }
        let collectingForKeys = [
            KeyedDebounce<String, Int>.collecting(interval: .milliseconds(1), isolation: .shared) {
                heard.add("\($0), all of \($1)")
            },
            KeyedThrottle<String, Int>.collecting(
                interval: .milliseconds(1), edges: .trailing, isolation: .shared
            ) { heard.add("\($0), all of \($1)") },
        ]
        source0.signal()
        port.send()
        messages.send("message")
        write(ends[1], "x", 1)
        kill(getpid(), SIGUSR1)
        // In one turn of the loop, so all at once.
        for input in 1...2 {
            for limiter in [collectingDebounce, collectingThrottle] { limiter(input) }
            for (limiter, key) in zip(collectingForKeys, ["keyed debounce", "keyed throttle"]) {
                limiter(input, for: key)
            }
        }
        debounce("debounce")
        throttle("throttle")
        keyedDebounce("debounce for", for: 1)
        keyedThrottle("throttle for", for: 2)
        await heard.wait(for: 21)
    }
    for name in heard.all { print(name) }

case "late handlers":
    // First, before there are other threads.
    let heard = Heard()
    let late = try LateHandlers(heard)
    Loop.runMain {
        late.begin()
        await heard.wait(for: LateHandlers.count)
    }
    for name in heard.all { print(name) }

case "other loop":
    try Loop.runMain {
        let worker = try LoopThread(name: "other")
        let loop = worker.loop
        Loop.mistakeHandling = .call { say("\($0)") }
        let debounce = Debounce<Int>(interval: .zero, on: loop, label: "debounce")
        let timer = Loop.Timer(after: .zero, label: "timer")
        loop.add(timer)
        say("\(debounce.setHandler(isolation: .shared) { _ in })")
        say("\(timer.setHandler(isolation: .shared) { _ in })")
        say("\(loop.perform(isolation: .shared) {})")
        say("\(loop.perform(after: .zero, isolation: .shared, label: "delayed") {} == nil)")
        timer.invalidate()
        worker.stop()
        try await worker.waitForEnd()
    }

case "connections":
    let heard = Heard()
    try Loop.runMain {
        let conversations = Conversations(heard)
        try conversations.begin()
        await heard.wait(for: Conversations.count)
    }
    for name in heard.all { print(name) }

case "label":
    @MainActor final class Panel { var title = "" }
    Loop.runMain {
        let panel = Panel()
        let detector = FeedbackLoopDetector(
            threshold: 2, actions: [.call { say("\($0.step)") }], isolation: .shared
        ) { ($0 as? Panel)?.title }
        panel.title = "left"
        await withCheckedContinuation { continuation in
            Loop.main.perform(isolation: .shared) {
                for _ in 0..<2 { detector.call("layout", of: panel) {} }
                continuation.resume()
            }
        }
    }

case "waits":
    let heard = Heard()
    try Loop.runMain {
        let thread = try LoopThread(name: "worker")
        let answer = try await thread.run {
            try Loop.main.performAndWait(for: .seconds(3600)) { MainActor.assumeIsolated { heard.add("asked") } }
            return "answered"
        }
        say("\(answer), \(heard.all)")
    }

case "child":
    let signal = try Loop.SignalSource(SIGTERM, isolation: .shared) { _, _ in say("signal") }
    try Loop.runMain {
        Loop.main.add(signal, in: .common)
        for resetsMask in [false, true] {
            var attributes = posix_spawnattr_t()
            var none = sigset_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            sigemptyset(&none)
            posix_spawnattr_setsigmask(&attributes, &none)
            if resetsMask { posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK)) }
            let child = spawn(["/bin/sh", "-c", "kill -TERM $$; exit 3"], &attributes)
            let exit = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<_, any Error>) in
                do {
                    let source = try Loop.ProcessSource(child) { _, exit in continuation.resume(returning: exit) }
                    Loop.main.add(source, in: .common)
                } catch { continuation.resume(throwing: error) }
            }
            say("\(exit)")
        }
    }

case "settles":
    try Loop.runMain {
        for text in try await Settling.play(rounds: 50) { say("\(text)") }
        say("at rest")
        for text in try await Settling.playOnBusyMachine(rounds: 50) { say("\(text)") }
        say("busy")
    }

case "inside":
    Loop.main.perform { Loop.runMain {} }
    Loop.main.run()

case "elsewhere":
    let thread = try LoopThread(name: "elsewhere")
    try thread.performAndWait { Loop.runMain {} }

default:
    exit(64)
}
