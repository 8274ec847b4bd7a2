import RunLoopKit

let loop = Loop(clock: VirtualClock())

// All inputs of a burst, in the order of the calls.
let refresh = Debounce<String>.collecting(
    interval: .milliseconds(100), on: loop
) { paths in
    print("refresh \(paths)")
}
for path in ["/a", "/b", "/c"] { refresh(path) }

// The inputs of an interval, merged into one.
let buy = Throttle<Int>(
    interval: .seconds(1), edges: [.leading, .trailing], on: loop,
    merging: { $0 + $1 }
) { amount in
    print("buy \(amount)")
}
for amount in 1...10 { buy(amount) }

// The last input of a burst, for each key.
let save = KeyedDebounce<String, Int>(
    interval: .seconds(2), on: loop
) { path, version in
    print("save \(path), version \(version)")
}
for version in 1...3 { save(version, for: "/a") }
save(1, for: "/b")
loop.run()

// A limiter that is deallocated discards what is pending, or flushes it.
for release in [RateLimitRelease.discard, .flush] {
    let last = Debounce<String>(
        interval: .seconds(60), on: loop, whenReleased: release
    ) { text in
        print("\(release): \(text)")
    }
    last("goodbye")
}
