import RunLoopKit

/// RunLoopKit. In virtual time, scenarios with timers take no time, and their timers cannot be late.
package final class KitSubject: Subject {
    private let clock: VirtualClock?
    private let loop: Loop

    /// Retains the items that handlers receive.
    private var items: [KitItem] = []

    /// In virtual time.
    package init() {
        let clock = VirtualClock(startingAt: Loop.Instant(nanoseconds: 1_000_000_000_000))
        self.clock = clock
        loop = Loop(clock: clock)
    }

    /// In real time, on the calling thread's own loop.
    package init(realTimeOn loop: Loop) {
        clock = nil
        self.loop = loop
    }

    private func keep(_ item: KitItem, _ box: KitItem.Box) -> any Item {
        box.item = item
        items.append(item)
        return item
    }

    private func mode(_ name: String) -> Loop.Mode { Loop.Mode(name) }

    package func run(_ name: String, seconds: Double, returnAfterSourceHandled: Bool) -> Int32 {
        loop.run(mode: mode(name), for: .seconds(seconds), returnAfterSourceHandled: returnAfterSourceHandled).rawValue
    }

    package func stop() { loop.stop() }
    package func wakeUp() { loop.wakeUp() }

    // Posting and signalling do not wake the loop in CF: a difference in the default, switched off for the comparison.
    package func perform(in modes: [String], _ block: @escaping () -> Void) {
        let block = Unchecked(block)
        if modes.count == 1 {
            loop.perform(in: mode(modes[0]), wake: false) { block.value() }
        } else {
            loop.perform(in: Set(modes.map(mode)), wake: false) { block.value() }
        }
    }

    package func makeSource0(
        order: Int, schedule: ((String) -> Void)?, cancel: ((String) -> Void)?, perform: @escaping () -> Void
    ) -> any Item {
        let (schedule, cancel, perform) = (Unchecked(schedule), Unchecked(cancel), Unchecked(perform))
        return KitItem(
            Loop.Source0(
                order: order, schedule: { schedule.value?($1.name) }, cancel: { cancel.value?($1.name) },
                perform: { perform.value() }))
    }

    package func makePort(_ perform: @escaping () -> Void) -> any Item {
        let perform = Unchecked(perform)
        return KitItem(try! Loop.PortSource { _ in perform.value() })
    }

    package func makeTimer(after seconds: Double, interval: Double, _ fire: @escaping (any Item) -> Void) -> any Item {
        let fire = Unchecked(fire)
        let box = Unchecked(KitItem.Box())
        let timer = Loop.Timer(at: loop.now.advanced(by: .seconds(seconds)), repeating: .seconds(interval)) { _ in
            fire.value(box.value.item!)
        }
        return keep(KitItem(timer, loop), box.value)
    }

    package func makeObserver(
        _ activities: Activity, repeats: Bool, order: Int, _ observe: @escaping (any Item, Activity) -> Void
    ) -> any Item {
        let observe = Unchecked(observe)
        let box = Unchecked(KitItem.Box())
        let observer = Loop.Observer(Loop.Activity(rawValue: activities.rawValue), repeats: repeats, order: order) {
            observe.value(box.value.item!, Activity(rawValue: $1.rawValue))
        }
        return keep(KitItem(observer), box.value)
    }

    package func add(_ item: any Item, _ name: String) { loop.add((item as! KitItem).item, in: mode(name)) }
    package func remove(_ item: any Item, _ name: String) { loop.remove((item as! KitItem).item, in: mode(name)) }
    package func contains(_ item: any Item, _ name: String) -> Bool {
        loop.contains((item as! KitItem).item, in: mode(name))
    }
    package func addCommonMode(_ name: String) { loop.addCommonMode(mode(name)) }

    package var currentMode: String? { loop.currentMode?.name }
    package var modes: Set<String> { Set(loop.modes.map(\.name)) }
    package var isWaiting: Bool { loop.isWaiting }

    package func secondsToNextTimer(in name: String) -> Double? {
        loop.nextTimerFireTime(in: mode(name)).map { loop.now.duration(to: $0) / .seconds(1) }
    }

    package func spend(_ seconds: Double) {
        if let clock { return clock.advance(by: .seconds(seconds)) }
        let end = Loop.Instant.now.advanced(by: .seconds(seconds))
        while Loop.Instant.now < end {}
    }
}

private final class KitItem: Item {
    final class Box { weak var item: KitItem? }

    let item: Loop.Item
    private let loop: Loop?

    init(_ item: Loop.Item, _ loop: Loop? = nil) {
        self.item = item
        self.loop = loop
    }

    func invalidate() { item.invalidate() }
    var isValid: Bool { item.isValid }
    func signal() { (item as! Loop.Source0).signal(wake: false) }
    func signalAndWake() { (item as! Loop.Source0).signal() }
    func send() { (item as! Loop.PortSource).send() }

    var secondsToFire: Double {
        get { (item as! Loop.Timer).nextFireTime.map { loop!.now.duration(to: $0) / .seconds(1) } ?? 0 }
        set { (item as! Loop.Timer).nextFireTime = loop!.now.advanced(by: .seconds(newValue)) }
    }
}

/// Everything in a scenario runs on one thread, which the compiler cannot know.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
