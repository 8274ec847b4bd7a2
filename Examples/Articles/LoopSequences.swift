import RunLoopKit

let worker = try LoopThread(name: "worker", clock: VirtualClock())

// The ticks of a timer.
let ticking = Task(executorPreference: worker.loop.taskExecutor) {
    for await tick in worker.loop.ticks(every: .seconds(60)) {
        let minute = tick.scheduledTime.nanoseconds / 60_000_000_000
        print("minute \(minute), \(tick.missed) missed")
        if minute == 3 { break }  // removes the timer
    }
}
await ticking.value

// The messages of a port. At most ten wait; then senders are suspended.
let (port, messages) = Loop.MessagePort<String>.makeMessages(
    on: worker.loop, capacity: 10)
let sender = Task {
    for number in 1...20 { try await port.send(whenRoom: "line \(number)") }
    try await port.send(whenRoom: "end")
}
var count = 0
for await message in messages {
    if message == "end" { break }
    count += 1
}
print("\(count) messages")
