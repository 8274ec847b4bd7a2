import Synchronization

/// Hears some Unix signals, whichever thread of the process gets them.
///
/// | it has | each signal | what waits |
/// |---|---|---|
/// | not begun | has its old effect, if no other listener hears it | nothing |
/// | begun | is heard | what has arrived since then |
/// | stopped | as before | is dropped |
final class SignalListener: @unchecked Sendable {
    private let signals: [Int32]
    private let entry: SignalEntry
    private let process = ProcessMark.current

    /// Both are changed with the lock of `SignalListeners` held, except that the first stop comes right before.
    private let hasBegun = Atomic<Bool>(false)
    private let hasStopped = Atomic<Bool>(false)

    /// Of the thread that takes arrivals.
    private var emptyReads = 0

    /// - Parameter signals: At least one, and none twice; a real-time signal alone.
    /// - Throws: `EINVAL` for a number that is no signal or cannot be caught, `EMFILE` without a descriptor left.
    init(_ signals: [Int32]) throws(LoopError) {
        self.signals = signals
        entry = try SignalEntry(signals)
    }

    /// Hears the signals from now on. Does nothing if it has begun or stopped, or in a forked child.
    func begin() {
        // Relaxed: a thread that finds false looks again with the lock.
        guard process.isCurrent, !hasBegun.load(ordering: .relaxed) else { return }
        SignalListeners.shared.change {
            guard !hasStopped.load(ordering: .relaxed), !hasBegun.exchange(true, ordering: .relaxed) else { return }
            entry.add()
        }
        for signal in signals { System.unblockIfBlockedEverywhere(signal) }
    }

    /// Whether it hears the signals.
    var hears: Bool {
        process.isCurrent && hasBegun.load(ordering: .relaxed) && !hasStopped.load(ordering: .relaxed)
    }

    /// Whether it was made before a fork, and this process is the child.
    var isOfParent: Bool { !process.isCurrent }

    /// In a forked child no handler sees the entry, and another thread of the parent may have been changing the list.
    deinit {
        stop()
        if process.isCurrent { SignalListeners.shared.free(entry) } else { entry.free() }
    }

    /// Readable when a signal has arrived.
    var descriptor: Descriptor { entry.descriptor }

    /// Hears nothing more. With its last listener a signal has its old effect again. May be called twice.
    func stop() {
        // Relaxed: the first caller does all of it.
        guard !hasStopped.exchange(true, ordering: .relaxed), process.isCurrent else { return }
        SignalListeners.shared.change { if hasBegun.load(ordering: .relaxed) { entry.remove() } }
    }

    /// Takes what has arrived, in order, and an ordinary signal once. Called when the descriptor is readable, by one
    /// thread at a time.
    ///
    /// Traps if that yields nothing three times in a row: the program has closed an end of the pipe, or put another
    /// file in its place.
    func takeArrivals() -> [SignalEntry.Arrival] {
        let arrivals = entry.takeArrivals()
        emptyReads = arrivals.isEmpty ? emptyReads + 1 : 0
        if emptyReads == 3, !hasStopped.load(ordering: .relaxed) { entry.failReading(System.badDescriptor) }
        return arrivals
    }

    /// How many arrivals have found no room since the last call.
    func takeLostCount() -> Int { entry.takeLostCount() }

    /// The handler that a signal had before its first listener, as `name in library`; that of the first signal that had
    /// one. Nil if all had the default effect or were ignored.
    var replacedHandler: String? {
        guard hasBegun.load(ordering: .relaxed) else { return nil }
        let address = SignalListeners.shared.replacedHandler(of: entry)
        return address == 0 ? nil : SignalListener.describe(address)
    }

    /// What other code has done with signals that it hears: none if they still have the library's handler.
    var laterEffects: [(signal: Int32, words: String)] {
        var effects: [(signal: Int32, effect: SignalEntry.Effect)] = []
        // Not while another thread begins or stops to listen.
        SignalListeners.shared.change {
            if hears { effects = signals.map { ($0, SignalEntry.effect(of: $0)) } }
        }
        return effects.compactMap { signal, effect in
            switch effect {
            case .ofLibrary: nil
            case .ignored: (signal, "is ignored")
            case .byDefault: (signal, "has its default effect")
            case .handler(let address): (signal, "goes to the handler \(SignalListener.describe(address))")
            }
        }
    }

    /// A function, as `name in library`.
    private static func describe(_ address: UInt) -> String {
        guard let module = System.modules(containing: [address])[0] else { return "0x" + String(address, radix: 16) }
        let offset = address - module.base
        let name = SymbolTable.functions(at: [offset], in: module)[0]?.name ?? "0x" + String(offset, radix: 16)
        return "\(name) in \(module.path)"
    }
}

/// The listeners of the process: changes their lists, one thread at a time.
private final class SignalListeners: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in SignalListeners() }
    static var shared: SignalListeners { ofProcess.object }

    private let lock = Lock(.leaf)

    /// Those whose owners are gone, while a handler might see them. Guarded by the lock.
    private var unused: [SignalEntry] = []

    /// Changes the lists.
    func change(_ body: () -> Void) { lock.withLock(body) }

    /// Frees an entry that has been removed, or leaves that to a later call.
    func free(_ entry: SignalEntry) {
        lock.withLock {
            unused.append(entry)
            guard !SignalEntry.mayBeSeen else { return }
            for entry in unused { entry.free() }
            unused = []
        }
    }

    func replacedHandler(of entry: SignalEntry) -> UInt { lock.withLock { entry.replacedHandler } }
}
