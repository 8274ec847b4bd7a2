import Glibc
import RunLoopKit

/// Sends a state such as READY=1 to systemd, if it has asked for that.
func notify(_ state: String) {
    guard let name = getenv("NOTIFY_SOCKET") else { return }
    let socket = makeSocket()
    defer { close(socket) }
    let flags = Int32(MSG_NOSIGNAL)
    _ = withAddress(String(cString: name)) { address, size in
        sendto(socket, state, state.utf8.count, flags, address, size)
    }
}

// Here the program plays systemd's part, too.
let systemd = makeSocket()
setenv("NOTIFY_SOCKET", "@example-\(getpid())", 1)
setenv("WATCHDOG_USEC", "20000", 1)  // `WatchdogSec=20ms`
_ = withAddress("@example-\(getpid())") { bind(systemd, $0, $1) }

let terminate = try Loop.SignalSource(SIGTERM, isolation: .shared) { _, _ in
    notify("STOPPING=1")
    Loop.main.stop()
}
Loop.main.add(terminate, in: .common)

// On the loop that is to be watched: it comes only while that one serves
// its inputs. Half of the time is what systemd's manual recommends.
if let text = getenv("WATCHDOG_USEC"),
    let time = Int(String(cString: text))
{
    let heartbeat = Loop.Timer(every: .microseconds(time / 2)) { _ in
        notify("WATCHDOG=1")
    }
    Loop.main.add(heartbeat, in: .common)
}

var beats = 0
var last = ""
@MainActor func listen() {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(systemd, &bytes, bytes.count)
    guard count > 0 else { return }
    let state = String(decoding: bytes[..<count], as: UTF8.self)
    if state != last { print("systemd gets \(state)") }
    last = state
    if state == "WATCHDOG=1" { beats += 1 }
    if beats == 2 { kill(getpid(), SIGTERM) }  // `systemctl stop`
}
let states = try Loop.FileDescriptorSource(
    systemd, isolation: .shared
) { _, _ in
    listen()
}
Loop.main.add(states, in: .common)

notify("READY=1")  // all is set up: `systemctl start` returns
Loop.main.run()
while last != "STOPPING=1" { listen() }

func makeSocket() -> Int32 {
    let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    return socket(AF_UNIX, kind | Int32(SOCK_NONBLOCK.rawValue), 0)
}

/// The address of a path or, if a name begins with @, of an abstract name.
func withAddress<R>(
    _ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
) -> R {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) {
        $0.copyBytes(from: bytes)
    }
    let size = MemoryLayout<sa_family_t>.size + bytes.count
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(size))
        }
    }
}
