import Glibc
import RunLoopKit

// A socket and a throttle on one loop, on a clock that the test moves.
let clock = VirtualClock(.manual)
let loop = Loop(clock: clock)
func log(_ text: String) {
    print("\(clock.now.nanoseconds / 1_000_000) ms: \(text)")
}

var ends: [Int32] = [0, 0]
socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
let peer = ends[1]
@Sendable func send(_ byte: UInt8) {
    withUnsafeBytes(of: byte) { _ = write(peer, $0.baseAddress, 1) }
}

let report = Throttle<UInt8>(
    interval: .milliseconds(100), edges: [.leading, .trailing], on: loop
) { log("reports \($0)") }
let connection = try Loop.FileDescriptorSource(
    owning: ends[0]
) { source, _ in
    var byte: UInt8 = 0
    if read(source.descriptor, &byte, 1) == 1 { report(byte) }
    if byte == 9 { loop.stop() }  // what the second part waits for
}
loop.add(connection)

// What is ready now, and then the interval.
for byte: UInt8 in 1...3 { send(byte) }
clock.advance(by: .zero)
log("all three are read")
clock.advance(by: .milliseconds(100))

// What comes from elsewhere, whenever that is: until it is there, but at
// most for five seconds of real time.
let outside = try LoopThread(name: "outside")  // its clock is the machine's
outside.loop.add(Loop.Timer(after: .seconds(5)) { _ in loop.stop() })
outside.perform { send(9) }
loop.run()
log(report.isPending ? "it has come" : "it has NOT come")
