import RunLoopKit

// It would report the threads that are dropped with timers.
Loop.mistakeHandling = .ignore

/// Whether a thread with this timer ends when its owner drops it.
func ends(with makeTimer: (LoopThread) -> Loop.Timer) throws -> Bool {
    weak var thread: LoopThread?
    do {
        let owned = try LoopThread(name: "sampler")
        thread = owned
        owned.loop.add(makeTimer(owned))
    }
    return thread == nil
}

let none = try ends { _ in Loop.Timer(every: .seconds(1)) { _ in } }
print("captures nothing:      the thread ends: \(none)")

let ofLoop = try ends { thread in
    let loop = thread.loop
    return Loop.Timer(every: .seconds(1)) { _ in loop.wakeUp() }
}
print("captures the loop:     the thread ends: \(ofLoop)")

let weakly = try ends { thread in
    Loop.Timer(every: .seconds(1)) { [weak thread] _ in thread?.stop() }
}
print("captures it weakly:    the thread ends: \(weakly)")

let strongly = try ends { thread in
    Loop.Timer(every: .seconds(1)) { _ in _ = thread.name }
}
print("captures the thread:   the thread ends: \(strongly)")
