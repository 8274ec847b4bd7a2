import Testing

@testable import RunLoopKit

/// A foreign loop that watches one descriptor.
final class Host {
    /// How the host learns that the loop has work.
    enum Trigger: CaseIterable {
        case level, edge

        /// It says when it sleeps, and watches the level.
        case asks
    }

    let loop: Loop
    let descriptor: Int32
    private let trigger: Trigger
    private let edges: Poller?
    /// The time that a pass may take; nil for no limit.
    private let budget: Duration?
    private(set) var results: [Loop.HostedResult] = []

    init(
        _ loop: Loop, _ mode: Loop.Mode = .default, _ trigger: Trigger = .level, budget: Duration? = nil
    ) throws {
        self.loop = loop
        self.budget = budget
        self.trigger = trigger
        descriptor = try loop.hosting.begin(in: mode)
        edges = trigger == .edge ? try Poller() : nil
        try edges?.add(descriptor, token: 0)
    }

    /// What a host checks before it sleeps.
    var isReadable: Bool {
        if let count = edges?.wait(blocking: false) { return count > 0 }
        guard trigger == .asks else { return System.isReadable(descriptor) }
        defer { loop.hosting.didWake() }
        return !loop.hosting.willSleep() || System.isReadable(descriptor)
    }

    /// Makes a first pass if the host watches for edges, as one inside a handler must: the pass that called the handler
    /// may have consumed the edge, and yet have things to serve.
    func beginInsideHandler() {
        if edges != nil { makePass() }
    }

    /// Serves the loop until it has no work; returns the number of passes.
    @discardableResult
    func serve() -> Int {
        let before = results.count
        while isReadable {
            makePass()
            // Not an assertion about speed: a host that spins would never end.
            if results.count - before > 10_000 {
                Issue.record("the descriptor stays readable")
                break
            }
        }
        return results.count - before
    }

    /// Sleeps until the loop has work, and serves it.
    func sleepAndServe() {
        if trigger == .asks ? loop.hosting.willSleep() : edges == nil { System.waitUntilReadable(descriptor) }
        if trigger == .asks { loop.hosting.didWake() }
        while edges?.wait(blocking: true) == 0 {}
        makePass()
    }

    private func makePass() { results.append(budget.map { loop.hosting.pass(for: $0) } ?? loop.hosting.pass()) }
}
