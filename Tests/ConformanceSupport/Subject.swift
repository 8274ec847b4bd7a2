/// A run loop under test: RunLoopKit's, the toolchain's CFRunLoop or the reference loop, behind one interface, so that
/// all play the same scenarios.
///
/// Strings name modes; "default" and "common" stand for each side's own.
package protocol Subject: AnyObject {
    /// Runs, and returns the reason why it ended, as CF's raw value.
    func run(_ mode: String, seconds: Double, returnAfterSourceHandled: Bool) -> Int32
    func stop()
    func wakeUp()
    func perform(in modes: [String], _ block: @escaping () -> Void)

    func makeSource0(
        order: Int, schedule: ((String) -> Void)?, cancel: ((String) -> Void)?, perform: @escaping () -> Void
    ) -> any Item
    func makePort(_ perform: @escaping () -> Void) -> any Item
    func makeTimer(after seconds: Double, interval: Double, _ fire: @escaping (any Item) -> Void) -> any Item
    func makeObserver(
        _ activities: Activity, repeats: Bool, order: Int, _ observe: @escaping (any Item, Activity) -> Void
    ) -> any Item

    func add(_ item: any Item, _ mode: String)
    func remove(_ item: any Item, _ mode: String)
    func contains(_ item: any Item, _ mode: String) -> Bool
    func addCommonMode(_ mode: String)

    var currentMode: String? { get }
    var modes: Set<String> { get }
    var isWaiting: Bool { get }

    /// Seconds from now to the next fire time of a mode.
    func secondsToNextTimer(in mode: String) -> Double?

    /// Lets time pass inside a handler.
    func spend(_ seconds: Double)
}

/// A source, timer or observer of a subject.
package protocol Item: AnyObject {
    func invalidate()
    var isValid: Bool { get }
    /// Marks a version-0 source.
    func signal()
    /// Marks a version-0 source, and wakes the loops that have it. CF does not know them: there it is as `signal`.
    func signalAndWake()
    /// Sends to a port.
    func send()
    /// Seconds from now to a timer's next fire time; settable.
    var secondsToFire: Double { get set }
}

/// The name of a result.
package func name(ofResult result: Int32) -> String {
    ["?", "finished", "stopped", "timedOut", "handledSource"][Int(result)]
}
