import Foundation

/// The place where a scenario plays: a subject, and the trace of its callouts.
package final class Stage {
    package private(set) var loop: (any Subject)!
    package private(set) var trace: [String] = []

    /// A time that CFRunLoop, in real time, can distinguish from none, and from two of them.
    package let moment: Double

    private var observers: [any Item] = []

    /// The scenario's actions in its callouts. The stage retains them, so that items that refer to each other form no
    /// retain cycle.
    private var actions: [(any Item, Activity) -> Void] = []

    package init(_ loop: any Subject, moment: Double) {
        self.loop = loop
        self.moment = moment
    }

    package func log(_ line: String) { trace.append(line) }

    /// Ends the scenario: releases everything that refers to this stage.
    package func clear() {
        actions = []
        observers = []
        loop = nil
    }

    /// A closure that calls the action again without retaining it.
    private func reference(to action: @escaping (any Item, Activity) -> Void) -> (any Item, Activity) -> Void {
        actions.append(action)
        let index = actions.count - 1
        return { self.actions[index]($0, $1) }
    }

    // MARK: Items that log their calls to the trace, and then do what the scenario says

    package func source0(_ label: String, order: Int = 0, logsModes: Bool = false, then: @escaping () -> Void = {})
        -> any Item
    {
        let then = reference(to: { _, _ in then() })
        return loop.makeSource0(
            order: order, schedule: { if logsModes { self.log("\(label) joins \($0)") } },
            cancel: { if logsModes { self.log("\(label) leaves \($0)") } },
            perform: {
                self.log("source0 \(label)")
                then(UnnamedItem(), [])
            })
    }

    package func port(_ label: String, then: @escaping () -> Void = {}) -> any Item {
        let then = reference(to: { _, _ in then() })
        return loop.makePort {
            self.log("port \(label)")
            then(UnnamedItem(), [])
        }
    }

    package func timer(_ label: String, after: Double, every: Double = 0, then: @escaping (any Item) -> Void = { _ in })
        -> any Item
    {
        let then = reference(to: { item, _ in then(item) })
        return loop.makeTimer(after: after, interval: every) {
            self.log("timer \(label)")
            then($0, [])
        }
    }

    package func observer(
        _ label: String, _ activities: Activity = .all, repeats: Bool = true, order: Int = 0,
        then: @escaping (any Item, Activity) -> Void = { _, _ in }
    ) -> any Item {
        let then = reference(to: then)
        return loop.makeObserver(activities, repeats: repeats, order: order) {
            self.log("\(label) \($1)")
            then($0, $1)
        }
    }

    /// Logs all activities of these modes to the trace.
    package func observe(_ modes: String...) {
        for mode in modes {
            observers.append(observer(mode))
            loop.add(observers.last!, mode)
        }
    }

    /// For scenarios that play one after the other in one loop.
    package func forgetObservers() { for observer in observers { observer.invalidate() } }

    package func block(_ label: String, in modes: String..., then: @escaping () -> Void = {}) {
        loop.perform(in: modes.isEmpty ? ["default"] : modes) {
            self.log("block \(label)")
            then()
        }
    }

    /// Calls `body` on a thread of its own, and waits for its end.
    package func onOtherThread(_ body: @escaping () -> Void) {
        let body = Unchecked(body)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body.value()
            done.signal()
        }
        done.wait()
    }

    package func run(_ mode: String = "default", _ seconds: Double = 0, returnAfterSourceHandled: Bool = false) {
        // CFRunLoop plays in real time: on a machine that stalls, the event that is to end the run may come before it.
        // The limit turns the hang into a difference, and longer moments resolve the difference.
        let patience = seconds < forever ? seconds : max(10, 200 * moment)
        let result = loop.run(mode, seconds: patience, returnAfterSourceHandled: returnAfterSourceHandled)
        log("run in \(mode): \(name(ofResult: result))")
    }

    /// Plays a scenario on one subject, on a thread of its own: CFRunLoop has one loop for each thread.
    package static func trace(
        of scenario: Scenario, moment: Double, on make: @escaping @Sendable () -> any Subject
    ) -> [String] {
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var trace: [String] = []
        Thread.detachNewThread {
            let stage = Stage(make(), moment: moment)
            scenario.play(stage)
            trace = stage.trace
            stage.clear()
            done.signal()
        }
        done.wait()
        return trace
    }
}

/// The item of a callout that does not name one.
private final class UnnamedItem: Item {
    package func invalidate() {}
    var isValid: Bool { false }
    package func signal() {}
    package func signalAndWake() {}
    package func send() {}
    var secondsToFire = 0.0
}

/// A program for a run loop.
package struct Scenario: Sendable {
    package let title: String
    package let play: @Sendable (Stage) -> Void

    package init(_ title: String, _ play: @escaping @Sendable (Stage) -> Void) {
        self.title = title
        self.play = play
    }

}

/// A time that never passes: scenarios with it end for another reason.
package let forever = 1e6
