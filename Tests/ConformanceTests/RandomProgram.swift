import ConformanceSupport
import TestSupport

/// What a program may use without showing a documented difference.
enum Flavour: String, CaseIterable {
    /// Version-1 sources, but no stops and wake-ups, which queue with them in another order.
    case ports
    /// Stops and wake-ups anywhere, but no ports and no timers.
    case stops
    /// Timers that are due or never fire, in runs that poll.
    case timers
    /// All of these together, anywhere, and runs that sleep in virtual time. CFRunLoop does not play it.
    case everything

    /// Those that show no documented difference from CFRunLoop.
    static let asOnCF: [Flavour] = [.ports, .stops, .timers]
}

/// A program as data: scripts of steps. Script 0 is the program itself; callouts play the others.
struct RandomProgram: ScriptedProgram, CustomStringConvertible {
    enum Step {
        case add(Int, String), remove(Int, String), contains(Int, String), invalidate(Int), trigger(Int)
        case addCommonMode(String), ask
        case block([String], Int)
        case run(String, seconds: Double, untilHandled: Bool)
        case stop, wakeUp, retime(Int, Double), wakingSignal(Int), spend(Double)
    }
    enum Kind {
        case source0(order: Int, logsModes: Bool), port, timer(after: Double, every: Double)
        case observer(Activity, repeats: Bool, order: Int)
    }

    struct Item {
        var kind: Kind
        var scripts: [Int]
    }

    static let modes = ["default", "a", "b"]
    /// A time that no run reaches.
    static let late = 1e5
    let flavour: Flavour
    let prefersCommon: Bool
    /// The modes whose activities are in the trace.
    var observedModes = RandomProgram.modes
    var items: [Item] = []
    var scripts: [[Step]] = []

    var description: String {
        (items.indices.map { "item \($0): \(items[$0].kind), scripts \(items[$0].scripts)" }
            + scripts.indices.filter { !scripts[$0].isEmpty }.map { "script \($0): \(scripts[$0])" }).joined(
                separator: "\n")
    }
}
