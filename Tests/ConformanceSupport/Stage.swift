import Foundation

/// Where a scenario plays: a subject, and the trace of what it does.
package final class Stage {
    package private(set) var loop: (any Subject)!
    package private(set) var trace: [String] = []

    /// A time that is long enough to be told from none, and two of them from one, by CFRunLoop in real time.
    package let moment: Double

    private var observers: [any Item] = []

    /// What the scenario does in its callouts. Kept here, so that items which know each other do not keep each other.
    private var actions: [(any Item, Activity) -> Void] = []

    package init(_ loop: any Subject, moment: Double) {
        self.loop = loop
        self.moment = moment
    }

    package func log(_ line: String) { trace.append(line) }

    /// The scenario is over: lets go of everything that knows this stage.
    package func clear() {
        actions = []
        observers = []
        loop = nil
    }

    /// What calls the action once more, without keeping it.
    private func reference(to action: @escaping (any Item, Activity) -> Void) -> (any Item, Activity) -> Void {
        actions.append(action)
        let index = actions.count - 1
        return { self.actions[index]($0, $1) }
    }

    // MARK: Items that tell the trace of their calls, and then do what the scenario wants

    package func source0(_ label: String, order: Int = 0, tellsModes: Bool = false, then: @escaping () -> Void = {})
        -> any Item
    {
        let then = reference(to: { _, _ in then() })
        return loop.makeSource0(
            order: order, schedule: { if tellsModes { self.log("\(label) joins \($0)") } },
            cancel: { if tellsModes { self.log("\(label) leaves \($0)") } },
            perform: {
                self.log("source0 \(label)")
                then(Nobody(), [])
            })
    }

    package func port(_ label: String, then: @escaping () -> Void = {}) -> any Item {
        let then = reference(to: { _, _ in then() })
        return loop.makePort {
            self.log("port \(label)")
            then(Nobody(), [])
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

    /// Writes all activities of these modes into the trace.
    package func observe(_ modes: String...) {
        for mode in modes {
            observers.append(observer(mode))
            loop.add(observers.last!, mode)
        }
    }

    /// For scenarios that follow each other in one loop.
    package func forgetObservers() { for observer in observers { observer.invalidate() } }

    package func block(_ label: String, in modes: String..., then: @escaping () -> Void = {}) {
        loop.perform(in: modes.isEmpty ? ["default"] : modes) {
            self.log("block \(label)")
            then()
        }
    }

    package func run(_ mode: String = "default", _ seconds: Double = 0, returnAfterSourceHandled: Bool = false) {
        // CFRunLoop plays in real time: on a machine that stalls, what is to end the run may come before it. That is a
        // difference then, which longer moments mend, and no hang.
        let patience = seconds < forever ? seconds : max(10, 200 * moment)
        let result = loop.run(mode, seconds: patience, returnAfterSourceHandled: returnAfterSourceHandled)
        log("run in \(mode): \(name(ofResult: result))")
    }

    /// Runs a scenario on one side, on a thread of its own: CFRunLoop has one loop for each thread.
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

/// Stands for the item where a callout does not say which.
private final class Nobody: Item {
    package func invalidate() {}
    var isValid: Bool { false }
    package func signal() {}
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

/// So long that it does not pass: scenarios with it end for another reason.
package let forever = 1e6
