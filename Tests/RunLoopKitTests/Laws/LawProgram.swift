import RunLoopKit
import TestSupport

/// A random program over every kind of item, as data: the steps of the main script and of each callout.
///
/// The same seed makes the same program. A program never depends on real time.
struct LawProgram: ScriptedProgram, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case source0, portSource, messagePort, borrowedDescriptor, ownedDescriptor, signal, process, childProcess,
            folder, connection, timer, continuousTimer, wallClockTimer, observer
        // No items.
        case block, delayedBlock
        case debounce, throttle, keyedDebounce, keyedThrottle
        case keyedQuota

        static let limiters: [Kind] = [.debounce, .throttle, .keyedDebounce, .keyedThrottle]
        static let items = allCases.filter(\.isItem)
        var subject: Subject {
            switch self {
            case .block, .delayedBlock: .block
            case .debounce, .throttle, .keyedDebounce, .keyedThrottle: .limiter
            case .keyedQuota: .quota
            default: .item
            }
        }
        var isKeyed: Bool { self == .keyedDebounce || self == .keyedThrottle }
        var isDebounce: Bool { self == .debounce || self == .keyedDebounce }
        var isItem: Bool { subject == .item }

        /// The clock of a timer; nil for other kinds.
        var timeBase: Loop.TimeBase? {
            switch self {
            case .timer: .suspending
            case .continuousTimer: .continuous
            case .wallClockTimer: .wallClock
            default: nil
            }
        }
        var isTimer: Bool { timeBase != nil }
        var isProcess: Bool { self == .process || self == .childProcess }
        var isDescriptor: Bool { self == .borrowedDescriptor || self == .ownedDescriptor }

        /// Whether it may be in the epoll set of its mode.
        var isSource1: Bool { !isTimer && self != .source0 && self != .observer }

        /// Whether several loops may have one at the same time.
        var isShared: Bool { self == .source0 || self == .portSource }
    }

    /// What an operation, or a state, is one of.
    enum Subject { case item, block, limiter, quota }

    enum Operation: String, CaseIterable, Sendable {
        // On an item.
        case add, remove, readd, move, invalidate, drop, trigger, rearm, disarm, changeInterest, takeWaiting, retime,
            setTolerance, setHandler
        // On a loop, and so on every item in it.
        case addCommonMode, run, stop, endLoop
        // On a block.
        case post, withdraw
        // On a limiter.
        case call, flush, cancel
        // On the quota of a key.
        case take, check, reserve, giveBack, reset, resetAll

        static let ofItems = allCases.filter { $0.subject == .item }
        static let ofQuotas = allCases.filter { $0.subject == .quota }

        var subject: Subject {
            switch self {
            case .post, .withdraw: .block
            case .call, .flush, .cancel: .limiter
            case .take, .check, .reserve, .giveBack, .reset, .resetAll: .quota
            default: .item
            }
        }

        var concernsLoop: Bool {
            switch self {
            case .addCommonMode, .run, .stop, .endLoop: true
            default: false
            }
        }
    }

    /// The place from which an operation is called.
    enum Context: String, CaseIterable {
        case main
        /// The item's own callout. Of a quota: the deinit of a key that it forgets.
        case own
        // Another item's callout, or what its name says.
        case source, observer, timer, block, schedule, cancel, endHandler, action
        /// The deinit of what an item's handler, or a block, has captured.
        case `deinit`
        /// Any of these.
        case another

        // Circumstances besides the caller.
        /// A callout of a run inside another run of the same loop.
        case nested
        /// The same, of a third run.
        case third
        /// Another thread, while the loop's thread waits for its return.
        case otherThread
        /// A callout of a pass that a host makes.
        case host

        var isCaller: Bool {
            switch self {
            case .another, .nested, .third, .otherThread, .host: false
            default: true
            }
        }

        /// The callers that are no callout of the item.
        static let others: [Context] = [
            .source, .observer, .timer, .block, .schedule, .cancel, .deinit, .endHandler, .action,
        ]
    }

    struct Place: Hashable, Sendable, CustomStringConvertible {
        var loop: Int
        var mode: String
        var description: String { "\(mode) of \(loop)" }
    }

    struct Item {
        let kind: Kind
        /// Bits that choose among the kind's variants: see `LawItem`.
        var variant: Int
        /// For a timer: whether it is due as soon as it is added, or never.
        var isDue = true
        /// The times of one that is due, and again, while a program plays.
        var times: Times?
        /// Whether it is made with a handler whatever its variant says.
        var hasHandlerAtFirst = false
        /// The scripts of its first, second … callout.
        var scripts: [Int] = []
        /// The same for the notifications of a `Source0`.
        var scheduleScripts: [Int] = []
        var cancelScripts: [Int] = []
        /// The same for the releases of what its handlers have captured.
        var releaseScripts: [Int] = []

        struct Times {
            var delay, interval, tolerance: Duration
        }

        static let lateBit = 1 << 10
        /// Of a version-0 source: whether its signals wake its loops.
        static let wakingBit = 1 << 5

        /// Of a version-0 source: whether it is told of the modes that it joins and leaves. One that is not joins
        /// common modes late.
        static let silentBit = 1 << 9
        var isNotified: Bool {
            variant & Item.silentBit == 0 || !scheduleScripts.isEmpty || !cancelScripts.isEmpty
        }

        /// Makes a version-0 source whose signals wake no loop.
        mutating func wakesNobody() {
            variant &= ~Item.wakingBit
            hasHandlerAtFirst = true
        }

        /// Whether it is made without a handler, and gets one later.
        var isLate: Bool { variant & Item.lateBit != 0 && !hasHandlerAtFirst }
    }

    indirect enum Step: Sendable {
        /// Adds and removes until the item is in this many modes: of this loop, and of others too if the item can be
        /// shared.
        case place(item: Int, modes: Int, loop: Int)
        case operate(Operation, item: Int, Place)
        case post(Place, script: Int)
        case postLater(Place, script: Int, isFar: Bool)
        /// The block of a script, or the oldest queued one.
        case withdraw(script: Int?)
        case limit(Kind, Operation, loop: Int, script: Int)
        /// On the quota that a key of this script's has. If the quota keeps the key, its deinit plays the script.
        case quota(Operation, loop: Int, script: Int, cost: Int)
        /// Calls the loop's paced queue, whose action plays the script.
        case pace(loop: Int, script: Int)
        case onEnd(loop: Int, script: Int, isCancelled: Bool)
        /// A host runs the loop: it makes passes until nothing is left to do.
        case host(Place)
        /// The loop runs, for about half of the interval of a limiter.
        case lapse(Place)
        /// Another thread plays the step, while this one waits.
        case elsewhere(Step)
    }

    static let modes = ["default", "a", "b", "c"]
    static let loops = 3

    let seed: UInt64
    var items: [Item] = []
    /// Script 0 is the program itself.
    var scripts: [[Step]] = [[]]
    /// The scripts that the deinit of what a block has captured plays, by the block's script.
    var releaseScripts: [Int: Int] = [:]

    /// Whether loop 0 is the thread's own, in real time; the others are in virtual time.
    var hasRealLoop = false

    /// Whether a monitor watches the loops.
    var isMonitored = false

    /// Whether everything is released at the end as it is, without going quiet first.
    var endsAbruptly = false

    var description: String {
        let traits = (endsAbruptly ? ", an abrupt end" : "") + (isMonitored ? ", monitored" : "")
        var lines = ["loop 0 in \(hasRealLoop ? "real" : "virtual") time\(traits)"]
        let used = usedItems
        for index in items.indices where used.contains(index) {
            let item = items[index]
            let far = item.kind.isTimer && !item.isDue ? ", far" : ""
            let time = item.times.map { ", after \($0.delay), \($0.interval), tolerance \($0.tolerance)" } ?? far
            lines.append(
                "item \(index): \(item.kind), variant \(item.variant)\(time), callouts \(item.scripts), "
                    + "schedule \(item.scheduleScripts), cancel \(item.cancelScripts), release \(item.releaseScripts)")
        }
        for index in scripts.indices where !scripts[index].isEmpty {
            lines.append("script \(index):")
            lines += scripts[index].map { "    \(LawProgram.describe($0))" }
        }
        for (block, script) in releaseScripts.sorted(by: { $0 < $1 }) where !scripts[script].isEmpty {
            lines.append("the release of block \(block) plays script \(script)")
        }
        return lines.joined(separator: "\n")
    }

    private var usedItems: Set<Int> {
        Set(scripts.joined().compactMap(LawProgram.item))
    }

    /// The item that the step concerns; nil if it concerns none.
    private static func item(of step: Step) -> Int? {
        switch step {
        case .place(let item, _, _), .operate(_, let item, _): item
        case .elsewhere(let step): self.item(of: step)
        default: nil
        }
    }

    static func describe(_ step: Step) -> String {
        switch step {
        case .place(let item, let modes, let loop): "place \(item) in \(modes) modes of \(loop)"
        case .operate(let operation, let item, let place): "\(operation) \(item), \(place)"
        case .post(let place, let script): "post \(script) for \(place)"
        case .postLater(let place, let script, let isFar):
            "post \(script) for \(place), after \(isFar ? "a long" : "no") delay"
        case .withdraw(let script): "withdraw " + (script.map { "\($0)" } ?? "the oldest")
        case .limit(let kind, let operation, let loop, let script): "\(operation) \(kind) of \(loop), \(script)"
        case .quota(let operation, let loop, let script, let cost):
            "\(operation) \(cost) of the quota of \(loop), \(script)"
        case .pace(let loop, let script): "pace \(script) on \(loop)"
        case .onEnd(let loop, let script, let isCancelled):
            "at the end of \(loop): \(script)" + (isCancelled ? ", cancelled" : "")
        case .host(let place): "host \(place)"
        case .lapse(let place): "run for half an interval, \(place)"
        case .elsewhere(let step): "on another thread: \(describe(step))"
        }
    }
}
