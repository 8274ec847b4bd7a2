// What the fragments of the documentation take for granted: names, and functions that do nothing. scripts/fragments
// compiles them.
#if canImport(Glibc)
    import Glibc
#endif
import Foundation
import RunLoopDiagnostics
import RunLoopKit
import RunLoopRules

// Loops, and what is on them.
let worker = {
    let thread = try! LoopThread(name: "worker")
    try! thread.performAndWait {}  // until it runs its loop
    return thread
}()
let thread = worker
let loop = worker.loop
let guest = Loop(clock: VirtualClock())
let timer = {
    let timer = Loop.Timer(every: .seconds(1)) { _ in }
    loop.add(timer, in: .tracking)
    return timer
}()
let clock = VirtualClock()
let tracer = LoopTracer()
let monitor = {
    let monitor = try! StallMonitor()
    monitor.watch(.main, name: "main")
    return monitor
}()
let detector = FeedbackLoopDetector(on: .main, actions: [])
let port = Loop.MessagePort<String> { _ in }
let pool = try! LoopThreadPool(count: 2, options: .init(name: "pool"))

// What programs do.
func work() {}
func draw() {}
func pollEvents() {}
func ring() {}
func nextSeven(after time: Loop.Instant) -> Loop.Instant { time + .seconds(3600) }
func lookUp(_ text: String) {}
let search = AsyncLimiter<String, [String]>.debounce(interval: .milliseconds(300)) { [$0] }
func reload(_ path: String) {}
func save() {}
func write(_ text: String) {}
func milliseconds() -> Int64 { 0 }
func fetchResults(for text: String) async throws -> [String] { [text] }
nonisolated(unsafe) var count = 0
nonisolated(unsafe) var drawsFrames = false
nonisolated(unsafe) var textChanged: (String) -> Void = { _ in }
nonisolated(unsafe) var keyPressed: () -> Void = {}
nonisolated(unsafe) var eachFrame: () -> Void = {}

/// A pair of connected sockets: one is the fragments', and nothing is sent to the other.
let socket = {
    var ends: [Int32] = [0, 0]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    return ends[0]
}()

/// A process that ends soon.
let child = {
    var child: pid_t = 0
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
    posix_spawnp(&child, "true", nil, nil, arguments, environ)
    return child
}()
nonisolated(unsafe) let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]

let file = URL(filePath: ".build/fragments/file")
extension URL {
    /// Stands in for the lines of a file, which come one by one.
    var lines: AsyncStream<String> {
        AsyncStream { lines in
            lines.yield("a line")
            lines.finish()
        }
    }
}
let texts = file.lines
@MainActor final class Window { var title = "" }
@MainActor let window = Window()

struct Field { var text = "text" }
let field = Field()

final class Packets {
    var onPacket: () -> Void = {}
    var onClose: () -> Void = {}
    func sendPing() {}
}
nonisolated(unsafe) let connection = Packets()

final class Document: Sendable {
    static let saving = LimitedMethod<Document, String>("save") { _, _ in }
}
let draft = Document()
func write(_ document: Document, to path: String) {}

enum Account {
    static let trading = LimitedMethod<Document, [Int]>("trade") { _, _ in }
}
let rule = Account.trading.rule(for: Document.self, interval: .seconds(1))

struct ClockFace { func update() {} }
let clockFace = ClockFace()

final class Panel { var preferredHeight: (_ width: Int) -> Int = { $0 } }
nonisolated(unsafe) let panel = Panel()

/// An actor with a thread of its own.
actor Owner {
    nonisolated var unownedExecutor: UnownedSerialExecutor { worker.loop.asUnownedSerialExecutor() }
    func receive(from descriptor: Int32) {}
}

/// The metrics of a minute ago.
nonisolated(unsafe) var last = monitor.metrics(of: .main)!

/// A library whose calls block.
struct Database {}
let database = Database()

/// A call of it that another thread may interrupt.
struct Query {
    init(on database: Database) {}
    func rows() throws -> [String] { [] }
    func interrupt() {}
}
