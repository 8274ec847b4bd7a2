import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Not `pipe`, as a property is called.
private func makePipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    return (ends[0], ends[1])
}

/// Items and limiters of every kind, made without handlers, which get one of the main actor while they wait.
@MainActor final class LateHandlers {
    static let count = 15

    private let heard: Heard
    private let signal = try! Loop.SignalSource(SIGUSR1)
    private let timer = Loop.Timer(after: .zero)
    private let source = Loop.Source0()
    private let observer = Loop.Observer(.beforeTimers)
    private let messages = Loop.MessagePort<String>()
    private let port: Loop.PortSource
    private let pipe: Loop.FileDescriptorSource
    private let writer: Int32
    private let process: Loop.ProcessSource
    private let child: Loop.ChildProcess
    private let folder: Loop.FolderSource
    private let path: String

    private let debounce = Debounce<String>(interval: .zero, on: .main)
    private let collecting = Debounce<String>(interval: .zero, on: .main)
    private let keyed = KeyedDebounce<Int, String>(interval: .zero, on: .main)
    private let collectingForKeys = KeyedDebounce<Int, String>(interval: .zero, on: .main)
    private let queue = PacedQueue<String>(1, per: .milliseconds(1), capacity: 1, on: .main)

    init(_ heard: Heard) throws {
        self.heard = heard
        let ends = makePipe()
        pipe = try Loop.FileDescriptorSource(owning: ends.reader)
        writer = ends.writer
        port = try Loop.PortSource()
        process = try Loop.ProcessSource(spawn(["/bin/true"], nil))
        child = try Loop.ChildProcess("/bin/true")
        var template = Array("/tmp/RunLoopKit-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        folder = try Loop.FolderSource(path)
    }

    func begin() {
        let items = [signal, timer, source, observer, messages, port, pipe, process, child, folder] as [Loop.Item]
        for item in items { precondition(Loop.main.add(item, in: .common)) }
        kill(getpid(), SIGUSR1)
        source.signal()
        messages.send("message")
        port.send()
        write(writer, "x", 1)
        mkdir(path + "/new", 0o700)
        for limiter in [debounce, collecting] { limiter("call") }
        for limiter in [keyed, collectingForKeys] { limiter("call", for: 1) }
        precondition(queue("input") == .accepted)
        setHandlersOfItems()
        setHandlersOfLimiters()
    }

    private func setHandlersOfItems() {
        let heard = heard
        signal.setHandler(isolation: .shared) { _, _ in heard.add("signal") }
        timer.setHandler(isolation: .shared) { _ in heard.add("timer") }
        source.setHandler(isolation: .shared) { heard.add("source 0") }
        observer.setHandler(isolation: .shared) { observer, _ in
            heard.add("observer")
            observer.invalidate()
        }
        messages.setHandler(isolation: .shared) { heard.add($0) }
        port.setHandler(isolation: .shared) { _ in heard.add("port") }
        pipe.setHandler(isolation: .shared) { source, _ in
            heard.add("pipe")
            source.invalidate()
        }
        process.setHandler(isolation: .shared) { _, exit in heard.add("process, \(exit)") }
        child.setHandler(isolation: .shared) { _, exit in heard.add("child, \(exit)") }
        folder.setHandler(isolation: .shared) { [path] folder, _ in
            heard.add("folder")
            folder.invalidate()
            rmdir(path + "/new")
            rmdir(path)
        }
    }

    private func setHandlersOfLimiters() {
        let heard = heard
        debounce.setHandler(isolation: .shared) { heard.add("debounce: \($0)") }
        collecting.setHandler(isolation: .shared, collecting: { heard.add("collecting: \($0)") })
        keyed.setHandler(isolation: .shared) { heard.add("for \($0): \($1)") }
        collectingForKeys.setHandler(isolation: .shared, collecting: { heard.add("collecting for \($0): \($1)") })
        queue.setHandler(isolation: .shared) { heard.add("queue: \($0)") }
    }
}
