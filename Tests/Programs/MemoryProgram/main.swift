// Limiters without memory: an allocation fails, and Swift ends the process. With "burst": calls inside a burst when no
// byte is left. With a kind of limiter: keys used once, with hardly any memory for each.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
    let addressSpace = __rlimit_resource_t(RLIMIT_AS.rawValue)
#elseif canImport(Musl)
    import Musl
    let addressSpace = RLIMIT_AS
#elseif canImport(Android)
    import Android
    let addressSpace = RLIMIT_AS
#endif

/// Lets the process have this many bytes more than it has.
func limitMemory(toGrowBy bytes: Int) {
    var text = [CChar](repeating: 0, count: 64)
    let file = open("/proc/self/statm", O_RDONLY)
    precondition(read(file, &text, 63) > 0)
    close(file)
    let pages = Int(atol(text))
    limitMemory(to: pages * Int(getpagesize()) + bytes)
}

func limitMemory(to bytes: Int?) {
    var limit = rlimit()
    getrlimit(addressSpace, &limit)
    limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
    precondition(setrlimit(addressSpace, &limit) == 0)
}

/// Allocates all available memory, down to the smallest free block.
func takeAllMemory() {
    limitMemory(toGrowBy: 0)
    var size = 1 << 30
    while size > 0 {
        while malloc(size) != nil {}
        size = size > 4096 ? size / 2 : size - 8
    }
}

/// A limiter of each kind, in a burst.
struct Bursts {
    let throttle: Throttle<Int>
    let both: Throttle<String>
    let debounce: Debounce<Int>
    let void: Debounce<Void>
    let text = "an input that is an object, since it is longer than fifteen bytes"

    init(on loop: Loop) {
        let interval = Duration.seconds(3600)
        throttle = Throttle(interval: interval, on: loop) { _ in }
        both = Throttle(interval: interval, edges: [.leading, .trailing], on: loop) { _ in }
        debounce = Debounce(interval: interval, maxWait: interval * 2, on: loop) { _ in }
        void = Debounce(interval: interval, on: loop) {}
    }

    func call() -> Bool { throttle(1) && both(text) && debounce(2) && void() }
}

func callInBursts() {
    let (loop, worker) = (Loop.current, try! LoopThread())
    // A thread looks after a main loop that has calls and has never run, and allocates.
    loop.run(mode: .default, for: .zero)
    let (here, elsewhere) = (Bursts(on: loop), Bursts(on: worker.loop))
    // The first call acts, or starts the timer; the second is the first call inside the burst.
    for _ in 0..<3 { precondition(here.call() && elsewhere.call()) }
    // Until the worker sleeps again, which allocates too.
    let waits = try! worker.performAndWait { worker.loop.counters.waits }
    while worker.loop.counters.waits == waits { sched_yield() }
    let before = (loop.counters, worker.loop.counters)
    takeAllMemory()
    var rounds = 0
    // Plain code: without optimisation shorter forms allocate.
    while rounds < 1_000, here.call(), elsewhere.call() { rounds += 1 }
    let isUntouched = loop.counters == before.0 && worker.loop.counters == before.1
    // Printing allocates.
    limitMemory(to: nil)
    print("\(rounds) rounds, \(isUntouched ? "no" : "some") system calls of the loops")
}

/// Uses keys once, a thousand in each interval. `count` returns the number of keys that are remembered, and looks at
/// all of them, so it is called seldom.
///
/// The first tenth warms up: tables and the allocator's heap grow to the size that they keep. Each of the other keys
/// may take four bytes.
func useOnce(keys: Int, _ clock: VirtualClock, _ call: (_ key: Int) -> Void, _ count: () -> Int) -> String {
    var most = 0
    for key in 0..<keys {
        if key == keys / 10 { limitMemory(toGrowBy: 4 * keys) }
        call(key)
        guard key % 1_000 == 999 else { continue }
        most = max(most, count())
        clock.advance(by: .milliseconds(1))
    }
    return "\(most) keys at most"
}

func useOnce(_ kind: String, keys: Int) {
    let clock = VirtualClock(.manual)
    let loop = Loop(clock: clock)
    let actions = LoopBound(0, on: loop)
    let most: String
    let limiter: KeyedLimiter<Int, Int>
    if kind == "throttle" {
        limiter = KeyedThrottle(interval: .milliseconds(1), on: loop) { _, _ in actions.value += 1 }
    } else {
        limiter = KeyedDebounce(interval: .milliseconds(1), on: loop) { _, _ in actions.value += 1 }
    }
    most = useOnce(keys: keys, clock, { key in limiter(key, for: key) }, { limiter.keyCount })
    print("\(actions.value) actions, \(most), \(limiter.keyCount) in the end")
}

let arguments = CommandLine.arguments.dropFirst()
if dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil {
    print("a sanitizer has the memory")
} else if arguments.first == "burst" {
    callInBursts()
} else {
    useOnce(arguments.first!, keys: Int(arguments.last!)!)
}
