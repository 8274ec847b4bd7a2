import RunLoopKit

// In virtual time: the program waits for nothing.
let loop = Loop(clock: VirtualClock())
let start = loop.now

func log(_ limiter: String, _ key: String) {
    let time = Int((loop.now - start) / .milliseconds(1))
    print("\(time) ms: \(limiter) acts on \(key)")
}

let interval = Duration.milliseconds(100)
let limiters: [Limiter<String>] = [
    Throttle(interval: interval, on: loop) {
        log("throttle", $0)
    },
    Throttle(interval: interval, edges: [.leading, .trailing], on: loop) {
        log("throttle on both edges", $0)
    },
    Debounce(interval: interval, on: loop) {
        log("debounce", $0)
    },
    Debounce(interval: interval, maxWait: .milliseconds(150), on: loop) {
        log("debounce with maxWait", $0)
    },
]

// Calls at 0, 60, 120 and 180 ms.
for (index, key) in ["a", "b", "c", "d"].enumerated() {
    let call = Loop.Timer(after: .milliseconds(60 * index)) { _ in
        for limiter in limiters { limiter(key) }
    }
    loop.add(call)
}
loop.run()
