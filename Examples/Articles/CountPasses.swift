import RunLoopKit

let loop = Loop(clock: VirtualClock())
let port = try Loop.PortSource { count in
    print("\(count) sends in one call")
}
let messages = Loop.MessagePort<Int> { _ in }
loop.add(port)
loop.add(messages)

for number in 1...100 {
    port.send()  // counted; only the first one makes a system call
    messages.send(number)  // 64 in a pass
    loop.perform {}  // all of them in the first pass
}
loop.run(mode: .default, for: .seconds(1))
print("\(loop.counters.passes) passes")
