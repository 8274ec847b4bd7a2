import CLinux
import RunLoopKit
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The state that the handlers of one item share, and that the laws check. It does not retain the item: releasing an
/// item deallocates it.
final class Account: Sendable {
    let kind: StressItem.Kind
    unowned let world: World

    let (sent, handled, withdrawn) = (Sum(), Sum(), Sum())
    /// Closures that have not been released.
    let closures = Sum()
    /// Schedule minus cancel notifications for each mode and loop.
    private let notified = Mutex<[Place: Int]>([:])

    private struct Place: Hashable {
        let loop: ObjectIdentifier
        let mode: Loop.Mode
    }

    init(_ kind: StressItem.Kind, _ world: World) { (self.kind, self.world) = (kind, world) }

    func notify(_ mode: Loop.Mode, of loop: Loop, by step: Int) {
        notified.withLock { $0[Place(loop: ObjectIdentifier(loop), mode: mode), default: 0] += step }
        world.happens(one: 8)
    }

    func call(_ count: Int = 1) {
        handled.add(count)
        world.happens(one: 3)
    }

    var unpairedNotifications: Int { notified.withLock { $0.values.reduce(0) { $0 + abs($1) } } }

    /// An object that a handler captures.
    final class Closure: Sendable {
        let account: Account

        init(_ account: Account) {
            self.account = account
            account.closures.add(1)
            account.world.closures.add(1)
        }

        deinit {
            account.closures.add(-1)
            account.world.closures.add(-1)
        }
    }
}

/// The element of message ports.
final class Message: Sendable {
    private let world: World
    private let wasHandled = Atomic<Bool>(false)

    init(_ world: World) {
        self.world = world
        world.messages.add(1)
    }

    deinit { world.messages.add(-1) }

    func handle() {
        expect(!wasHandled.exchange(true, ordering: .relaxed), "a message was handed over twice")
    }
}

/// Both ends of a pipe or a pair of sockets. The reading end may belong to a source.
final class Ends: Sendable {
    let reader: Int32
    let writer: Int32
    private let ownsReader: Bool

    init(ownsReader: Bool, sockets: Bool, blocks: Bool = false) {
        var ends: [Int32] = [-1, -1]
        let stream: Int32 = 1
        let flags = Int32(O_CLOEXEC) | (blocks ? 0 : Int32(O_NONBLOCK))
        precondition((sockets ? socketpair(AF_UNIX, stream | flags, 0, &ends) : pipe2(&ends, flags)) == 0)
        (reader, writer, self.ownsReader) = (ends[0], ends[1], ownsReader)
    }

    deinit {
        if ownsReader { close(reader) }
        close(writer)
    }
}

/// Reads all that is available, and returns its size.
func readAll(_ descriptor: Int32) -> Int {
    var total = 0
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { bytes in
        while descriptor >= 0 {
            let count = read(descriptor, bytes.baseAddress!, bytes.count)
            guard count > 0 else { return }
            total += count
        }
    }
    return total
}

/// An item that all threads use.
final class StressItem: Sendable {
    enum Kind: CaseIterable {
        case source0, portSource, messagePort, borrowedDescriptor, ownedDescriptor, signal, process, childProcess,
            folder, connection, listener, timer, continuousTimer, wallClockTimer, observer

        /// Whether making one, or releasing it, takes long.
        var isSlow: Bool { [.process, .childProcess, .folder].contains(self) }
    }

    let item: Loop.Item
    let account: Account
    private let ends: Ends?
    private let child: Child?
    private let folder: ScratchFolder?
    private let signal: Int32
    private let peer: Peer?
    private let wasInvalidated = Atomic<Bool>(false)

    var kind: Kind { account.kind }

    init(_ kind: Kind, signal: Int32, _ world: World, _ random: inout SplitMix) {
        let account = Account(kind, world)
        let closure = Account.Closure(account)
        let isOneShot = random.once(in: 3)
        var ends: Ends?
        var child: Child?
        var folder: ScratchFolder?
        var peer: Peer?
        switch kind {
        case .source0:
            let (schedule, cancel) = (Account.Closure(account), Account.Closure(account))
            item = Loop.Source0(
                order: random.below(3), schedule: { schedule.account.notify($1, of: $0, by: 1) },
                cancel: { cancel.account.notify($1, of: $0, by: -1) }, perform: { closure.account.call() })
        case .portSource: item = try! Loop.PortSource { closure.account.call($0) }
        case .messagePort:
            item = Loop.MessagePort<Message>(isOneShot: isOneShot) { message in
                message.handle()
                closure.account.call()
            }
        case .borrowedDescriptor, .ownedDescriptor:
            let isBorrowed = kind == .borrowedDescriptor
            let made = Ends(ownsReader: isBorrowed, sockets: random.once(in: 2))
            ends = made
            let handler: Loop.FileDescriptorSource.Handler = { source, ready in
                // It is always writable: otherwise the handler would be called repeatedly.
                if ready.contains(.writable) { source.interest = .read }
                closure.account.call(readAll(source.descriptor))
                // The other end was closed with the program's reference to the source.
                if ready.contains(.hangUp) { source.invalidate() }
                // The program owns the reading end of a borrowed descriptor, which stays open for as long as it has
                // handlers.
                withExtendedLifetime(isBorrowed ? made : nil) {}
            }
            let trigger: Loop.FileDescriptorSource.Trigger = random.once(in: 2) ? .edge : .level
            item =
                isBorrowed
                ? try! Loop.FileDescriptorSource(made.reader, trigger: trigger, isOneShot: isOneShot, handler: handler)
                : try! Loop.FileDescriptorSource(
                    owning: made.reader, trigger: trigger, isOneShot: isOneShot, handler: handler)
        case .signal:
            item = try! Loop.SignalSource(signal) { closure.account.call($1.count) }
        case .process:
            let made = Child()
            child = made
            item = try! Loop.ProcessSource(made.number, reaping: false) { _, _ in
                closure.account.call()
                withExtendedLifetime(made) {}
            }
        case .childProcess:
            // It ends, at the latest, when the item is released: no child outlives the program.
            let made = Ends(ownsReader: true, sockets: false, blocks: true)
            ends = made
            item = try! Loop.ChildProcess("cat", input: .descriptor(made.reader), output: .null) { _, exit in
                expect(exit != .unknown, "a child is reaped by other code")
                closure.account.call()
            }
        case .folder:
            let made = ScratchFolder()
            folder = made
            item = try! Loop.FolderSource(made.path) { closure.account.call($1.count) }
        case .connection:
            let made = Ends(ownsReader: false, sockets: true)
            (ends, peer) = (made, Peer(made))
            item = try! Loop.Connection(owning: made.reader) { connection, event in
                if case .received(let bytes) = event { closure.account.call(bytes.count) }
                // The other end was closed with the program's reference to the connection.
                if event == .peerFinished { connection.end() }
            }
        case .listener:
            let address = Loop.SocketAddress.unix("\0stress-\(getpid())-\(UInt64.random(in: 0 ... .max))")
            item = try! Loop.Listener(address) { _, connection in
                closure.account.call()
                connection.invalidate()
            }
        case .timer, .continuousTimer, .wallClockTimer:
            let (delay, tolerance) = (random.below(2000), Duration.microseconds(random.below(300)))
            let interval = 200 + random.below(3000)
            let timeBase: Loop.TimeBase =
                kind == .timer ? .suspending : kind == .continuousTimer ? .continuous : .wallClock
            let handler = { @Sendable (firing: Loop.Timer.Firing) in
                expect(
                    firing.scheduledTime <= Loop.current.now(firing.timer.timeBase), "a timer fires early")
                closure.account.call()
            }
            item =
                random.once(in: 3)
                ? Loop.Timer(
                    restartableAfter: .microseconds(delay), tolerance: tolerance, timeBase: timeBase, handler: handler)
                : Loop.Timer(
                    after: .microseconds(delay), repeating: isOneShot ? nil : .microseconds(interval),
                    tolerance: tolerance, timeBase: timeBase, handler: handler)
            if random.once(in: 4) { (item as! Loop.Timer).isPrecise = true }
        case .observer:
            let activities: [Loop.Activity] = [.all, .beforeWaiting, [.afterWaiting, .exit], .beforeSources]
            item = Loop.Observer(random.pick(activities), repeats: !isOneShot, order: random.below(3)) { _, _ in
                closure.account.call()
            }
        }
        self.account = account
        self.ends = ends
        self.child = child
        self.folder = folder
        self.signal = signal
        self.peer = peer
    }

    func invalidate() {
        wasInvalidated.store(true, ordering: .relaxed)
        item.invalidate()
    }

    func trigger() {
        switch item {
        case let source as Loop.Source0: source.signal(wake: true)
        case let port as Loop.PortSource:
            account.sent.add(1)
            port.send()
        case let port as Loop.MessagePort<Message>: if port.send(Message(account.world)) { account.sent.add(1) }
        case is Loop.FileDescriptorSource: if write(ends!.writer, [1], 1) == 1 { account.sent.add(1) }
        case is Loop.SignalSource:
            account.sent.add(1)
            kill(getpid(), signal)
        case is Loop.ProcessSource: child!.end()
        case let child as Loop.ChildProcess: child.end(within: .microseconds(account.sent.value % 3 * 100))
        case is Loop.FolderSource:
            account.sent.add(1)
            folder!.makeFile()
        case is Loop.Connection: if write(ends!.writer, [1], 1) == 1 { account.sent.add(1) }
        case let listener as Loop.Listener: connect(to: listener)
        default: break
        }
    }

    /// Whom it accepts has closed already.
    private func connect(to listener: Loop.Listener) {
        guard let client = try? Loop.Connection(connectingTo: listener.address!) else { return }
        account.sent.add(1)
        client.invalidate()
    }

    /// Another operation of the item's kind.
    func change(_ random: inout SplitMix) {
        switch item {
        case let port as Loop.MessagePort<Message>:
            switch random.below(3) {
            case 0: port.disarm()
            case 1: port.rearm()
            default: account.withdrawn.add(port.takeWaiting().count)
            }
        case let source as Loop.FileDescriptorSource:
            switch random.below(4) {
            case 0: source.disarm()
            case 1: source.rearm()
            default: source.interest = random.pick([.read, .read, [], [.read, .write]])
            }
        case let timer as Loop.Timer:
            let delay = Duration.microseconds(random.below(3000))
            switch random.below(6) {
            case 0: timer.nextFireTime = nil
            case 1, 2: timer.nextFireTime = Loop.current.now(timer.timeBase).advanced(by: delay)
            case 3: timer.restart()
            default: timer.restart(after: delay)
            }
            if random.once(in: 3) { timer.tolerance = .microseconds(random.below(500)) }
        case let connection as Loop.Connection:
            switch random.below(4) {
            case 0: connection.isReceiving.toggle()
            case 1: peer!.receive()
            default: peer!.letSend(random.once(in: 4) ? 30_000 : 1 + random.below(30), by: connection)
            }
        case let listener as Loop.Listener: listener.isAccepting.toggle()
        default: trigger()
        }
    }

    // MARK: When all threads are quiet

    /// Re-arms the item.
    func rearm() {
        (item as? Loop.MessagePort<Message>)?.rearm()
        (item as? Loop.Connection)?.isReceiving = true
        (item as? Loop.Listener)?.isAccepting = true
        if let source = item as? Loop.FileDescriptorSource {
            source.interest = .read
            source.rearm()
        }
    }

    /// Whether all that was sent to it has been handled. For an item in a mode that runs; the caller repeats the check
    /// until it holds.
    var hasHandledAll: Bool {
        guard item.isValid else { return true }
        switch item {
        case let source as Loop.Source0: return !source.isSignalled
        case is Loop.MessagePort<Message>:
            return account.sent.value == account.handled.value + account.withdrawn.value
        case is Loop.Connection: return account.sent.value == account.handled.value && peer!.hasReceivedAll
        case is Loop.PortSource, is Loop.FileDescriptorSource, is Loop.FolderSource, is Loop.Listener:
            return account.sent.value == account.handled.value
        // They may include signals sent to an earlier source for the same number.
        case is Loop.SignalSource, is Loop.ProcessSource, is Loop.ChildProcess: return account.handled.value > 0
        default: return true
        }
    }

    /// Checks the laws after the item was invalidated.
    func checkTheEnd() {
        expect(!item.isValid, "\(kind) is valid")
        expect(account.closures.value == 0, "\(kind): \(account.closures.value) handlers are not released")
        expect(account.unpairedNotifications == 0, "\(kind): schedule and cancel notifications do not pair up")
        if kind == .portSource || kind == .messagePort {
            let (sent, done) = (account.sent.value, account.handled.value + account.withdrawn.value)
            expect(done <= sent, "\(kind): \(done) were handled, \(sent) sent")
        }
        peer?.receive()
        if let ends, kind == .ownedDescriptor || kind == .connection {
            // A starting child may still have it for a moment.
            wait(for: "the descriptor of an invalid source to be closed") {
                var request = pollfd(fd: ends.writer, events: 0, revents: 0)
                return poll(&request, 1, 0) == 1
            }
        }
        child?.end()
    }
}

/// The other end of a connection. It checks that what arrives is what was sent, each byte once and in order.
final class Peer: Sendable {
    private let ends: Ends
    private let counts = Mutex<(sent: Int, received: Int)>((0, 0))

    init(_ ends: Ends) { self.ends = ends }

    private static func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index % 251) }

    /// Sends the next bytes. One thread at a time, since the bytes of calls at the same moment may come in any order.
    func letSend(_ count: Int, by connection: Loop.Connection) {
        counts.withLock { counts in
            if connection.send((counts.sent..<counts.sent + count).map(Peer.byte)) { counts.sent += count }
        }
    }

    /// Takes what has arrived.
    func receive() {
        counts.withLock { counts in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { bytes in
                while true {
                    let count = read(ends.writer, bytes.baseAddress!, bytes.count)
                    guard count > 0 else { return }
                    let isRight = (0..<count).allSatisfy { bytes[$0] == Peer.byte(counts.received + $0) }
                    expect(isRight, "bytes of a connection are lost, doubled or out of order")
                    counts.received += count
                }
            }
            expect(counts.received <= counts.sent, "\(counts.received) bytes arrived, \(counts.sent) were accepted")
        }
    }

    var hasReceivedAll: Bool {
        receive()
        return counts.withLock { $0.received == $0.sent }
    }
}

/// A process that does nothing until it, or the program, is ended.
final class Child: Sendable {
    let number: Int32
    private let input: Int32
    private let hasEnded = Atomic<Bool>(false)

    init() {
        // It ends with its input: no child outlives the program.
        var ends: [Int32] = [-1, -1]
        precondition(pipe2(&ends, Int32(O_CLOEXEC)) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var number: pid_t = 0
        var words: [UnsafeMutablePointer<CChar>?] = [strdup("cat"), nil]
        defer { free(words[0]) }
        precondition(posix_spawnp(&number, "cat", &actions, nil, &words, environ) == 0)
        close(ends[0])
        (self.number, input) = (number, ends[1])
    }

    /// The number stays its own until it is reaped, which only the deinit does.
    func end() { if !hasEnded.exchange(true, ordering: .relaxed) { kill(number, SIGKILL) } }

    deinit {
        end()
        close(input)
        while waitpid(number, nil, 0) < 0, errno == EINTR {}
    }
}
