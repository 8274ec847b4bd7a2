import ReferenceLoop

/// The reference loop: what RunLoopKit is to do, in virtual time.
package final class ReferenceSubject: Subject {
    private let loop = ReferenceLoop()

    /// In virtual time.
    package init() {}

    /// As the wait of RunLoopKit: in whole nanoseconds, and never until the end of time.
    private func duration(_ seconds: Double) -> Duration { .nanoseconds(Int64(max(-1e18, min(seconds * 1e9, 1e18)))) }

    package func run(_ name: String, seconds: Double, returnAfterSourceHandled: Bool) -> Int32 {
        loop.run(in: name, for: duration(seconds), returnAfterSourceHandled: returnAfterSourceHandled).rawValue
    }

    package func stop() { loop.stop() }
    package func wakeUp() { loop.wakeUp() }

    package func perform(in modes: [String], _ block: @escaping () -> Void) {
        loop.perform(in: modes, wake: false, block)
    }

    package func makeSource0(
        order: Int, schedule: ((String) -> Void)?, cancel: ((String) -> Void)?, perform: @escaping () -> Void
    ) -> any Item {
        let source = ReferenceLoop.Source0(loop)
        source.order = order
        source.perform = perform
        source.didJoin = { schedule?($0) }
        source.didLeave = { cancel?($0) }
        return ReferenceItem(source)
    }

    package func makePort(_ perform: @escaping () -> Void) -> any Item {
        let port = ReferenceLoop.Port(loop)
        port.perform = { _ in perform() }
        return ReferenceItem(port)
    }

    package func makeTimer(after seconds: Double, interval: Double, _ fire: @escaping (any Item) -> Void) -> any Item {
        let box = ReferenceItem.Box()
        let timer = ReferenceLoop.Timer(loop)
        timer.setFireTime(loop.now + duration(seconds))
        timer.interval = duration(interval)
        timer.perform = { fire(box.item!) }
        return keep(ReferenceItem(timer, loop), box)
    }

    package func makeObserver(
        _ activities: Activity, repeats: Bool, order: Int, _ observe: @escaping (any Item, Activity) -> Void
    ) -> any Item {
        let box = ReferenceItem.Box()
        let observer = ReferenceLoop.Observer(loop)
        observer.activities = ReferenceLoop.Activity(rawValue: activities.rawValue)
        observer.repeats = repeats
        observer.order = order
        observer.perform = { observe(box.item!, Activity(rawValue: $0.rawValue)) }
        return keep(ReferenceItem(observer), box)
    }

    /// Retains the items that handlers receive.
    private var items: [ReferenceItem] = []

    private func keep(_ item: ReferenceItem, _ box: ReferenceItem.Box) -> any Item {
        box.item = item
        items.append(item)
        return item
    }

    package func add(_ item: any Item, _ name: String) { loop.add((item as! ReferenceItem).item, in: name) }
    package func remove(_ item: any Item, _ name: String) { loop.remove((item as! ReferenceItem).item, in: name) }
    package func contains(_ item: any Item, _ name: String) -> Bool {
        loop.contains((item as! ReferenceItem).item, in: name)
    }
    package func addCommonMode(_ name: String) { loop.addCommonMode(name) }

    package var currentMode: String? { loop.currentMode }
    package var modes: Set<String> { Set(loop.modes) }
    /// Nobody can ask while it waits: it has one thread.
    package var isWaiting: Bool { false }

    package func secondsToNextTimer(in name: String) -> Double? {
        loop.timers(in: name).first.map { ($0.fireTime - loop.now) / .seconds(1) }
    }

    package func spend(_ seconds: Double) { loop.now += duration(seconds) }
}

private final class ReferenceItem: Item {
    final class Box { weak var item: ReferenceItem? }

    let item: ReferenceLoop.Item
    private let loop: ReferenceLoop?

    init(_ item: ReferenceLoop.Item, _ loop: ReferenceLoop? = nil) {
        self.item = item
        self.loop = loop
    }

    func invalidate() { item.invalidate() }
    var isValid: Bool { item.isValid }
    func signal() { (item as! ReferenceLoop.Source0).signal(wake: false) }
    func signalAndWake() { (item as! ReferenceLoop.Source0).signal() }
    func send() { (item as! ReferenceLoop.Port).send() }

    var secondsToFire: Double {
        get { item.isValid ? ((item as! ReferenceLoop.Timer).fireTime - loop!.now) / .seconds(1) : 0 }
        set { (item as! ReferenceLoop.Timer).setFireTime(loop!.now + .nanoseconds(Int64(newValue * 1e9))) }
    }
}
