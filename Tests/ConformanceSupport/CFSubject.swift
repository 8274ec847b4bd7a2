import CLinux
import CoreFoundation
import Foundation

/// The toolchain's CFRunLoop, in real time. It is the loop of the thread that makes the subject.
package final class CFSubject: Subject {
    private let loop = CFRunLoopGetCurrent()!

    /// Retains the contexts to which CF has pointers.
    private var items: [CFItem] = []

    /// The calling thread's loop.
    package init() {}

    /// CF calls the contexts again when the thread ends: none of these items may be left in the loop then.
    deinit {
        for item in items {
            item.schedule = { _ in }
            item.cancel = { _ in }
            item.invalidate()
        }
    }

    private func mode(_ name: String) -> CFString {
        switch name {
        case "default": kCFRunLoopDefaultMode
        case "common": kCFRunLoopCommonModes
        default: CFStringCreateWithCString(nil, name, 0x0800_0100)
        }
    }

    private static func plain(_ mode: CFString?) -> String {
        var bytes = [CChar](repeating: 0, count: 100)
        CFStringGetCString(mode, &bytes, bytes.count, 0x0800_0100)
        let name = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name == "kCFRunLoopDefaultMode" ? "default" : name
    }

    /// CFRunLoop sleeps for ever if the time of a run is up while a nested run is active, as on a machine that stalls.
    /// A stop turns the hang into a difference, which longer moments resolve.
    package func run(_ name: String, seconds: Double, returnAfterSourceHandled: Bool) -> Int32 {
        let stop = DispatchWorkItem { [loop = Unchecked(loop)] in CFRunLoopStop(loop.value) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds + 20, execute: stop)
        defer { stop.cancel() }
        return Int32(CFRunLoopRunInMode(mode(name), seconds, returnAfterSourceHandled).rawValue)
    }

    package func stop() { CFRunLoopStop(loop) }
    package func wakeUp() { CFRunLoopWakeUp(loop) }

    package func perform(in modes: [String], _ block: @escaping () -> Void) {
        if modes.count == 1 {
            CFRunLoopPerformBlock(loop, mode(modes[0]), block)
        } else {
            let names = modes.map(mode)
            let array = CFArrayCreateMutable(nil, 0, nil)!
            for name in names { CFArrayAppendValue(array, Unmanaged.passUnretained(name).toOpaque()) }
            // CF makes its own set of the modes.
            withExtendedLifetime(names) { CFRunLoopPerformBlock(loop, array, block) }
        }
    }

    package func makeSource0(
        order: Int, schedule: ((String) -> Void)?, cancel: ((String) -> Void)?, perform: @escaping () -> Void
    ) -> any Item {
        let item = CFItem(perform)
        item.schedule = { schedule?(CFSubject.plain($0)) }
        item.cancel = { cancel?(CFSubject.plain($0)) }
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(item).toOpaque()
        context.perform = { CFItem.from($0).perform() }
        context.schedule = { CFItem.from($0).schedule($2) }
        context.cancel = { CFItem.from($0).cancel($2) }
        item.source = CFRunLoopSourceCreate(nil, order, &context)
        items.append(item)
        return item
    }

    package func makePort(_ perform: @escaping () -> Void) -> any Item {
        let item = CFItem(perform)
        item.descriptor = eventfd(0, Int32(EFD_NONBLOCK))
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(item).toOpaque()
        context.perform = { CFItem.from($0).perform() }
        context.getPort = { CFItem.from($0).port }
        item.source = withUnsafeMutablePointer(to: &context) {
            $0.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) { CFRunLoopSourceCreate(nil, 0, $0) }
        }
        items.append(item)
        return item
    }

    package func makeTimer(after seconds: Double, interval: Double, _ fire: @escaping (any Item) -> Void) -> any Item {
        let item = CFItem({})
        item.timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent() + seconds, interval, 0, 0) {
            [unowned item] _ in fire(item)
        }
        items.append(item)
        return item
    }

    package func makeObserver(
        _ activities: Activity, repeats: Bool, order: Int, _ observe: @escaping (any Item, Activity) -> Void
    ) -> any Item {
        let item = CFItem({})
        item.observer = CFRunLoopObserverCreateWithHandler(nil, CFOptionFlags(activities.rawValue), repeats, order) {
            [unowned item] in observe(item, Activity(rawValue: UInt($1.rawValue)))
        }
        items.append(item)
        return item
    }

    package func add(_ item: any Item, _ name: String) {
        let item = item as! CFItem
        if let source = item.source { CFRunLoopAddSource(loop, source, mode(name)) }
        if let timer = item.timer { CFRunLoopAddTimer(loop, timer, mode(name)) }
        if let observer = item.observer { CFRunLoopAddObserver(loop, observer, mode(name)) }
    }

    package func remove(_ item: any Item, _ name: String) {
        let item = item as! CFItem
        if let source = item.source { CFRunLoopRemoveSource(loop, source, mode(name)) }
        if let timer = item.timer { CFRunLoopRemoveTimer(loop, timer, mode(name)) }
        if let observer = item.observer { CFRunLoopRemoveObserver(loop, observer, mode(name)) }
    }

    package func contains(_ item: any Item, _ name: String) -> Bool {
        let item = item as! CFItem
        if let source = item.source { return CFRunLoopContainsSource(loop, source, mode(name)) }
        if let timer = item.timer { return CFRunLoopContainsTimer(loop, timer, mode(name)) }
        return CFRunLoopContainsObserver(loop, item.observer, mode(name))
    }

    package func addCommonMode(_ name: String) { CFRunLoopAddCommonMode(loop, mode(name)) }

    package var currentMode: String? { CFRunLoopCopyCurrentMode(loop).map { CFSubject.plain($0) } }

    package var modes: Set<String> {
        let all = CFRunLoopCopyAllModes(loop)!
        return Set(
            (0..<CFArrayGetCount(all)).map { index in
                CFSubject.plain(unsafeBitCast(CFArrayGetValueAtIndex(all, index), to: CFString.self))
            })
    }

    package var isWaiting: Bool { CFRunLoopIsWaiting(loop) }

    package func secondsToNextTimer(in name: String) -> Double? {
        let time = CFRunLoopGetNextTimerFireDate(loop, mode(name))
        return time == 0 ? nil : time - CFAbsoluteTimeGetCurrent()
    }

    package func spend(_ seconds: Double) {
        let end = CFAbsoluteTimeGetCurrent() + seconds
        while CFAbsoluteTimeGetCurrent() < end {}
    }
}

private final class CFItem: Item {
    let perform: () -> Void
    var schedule: (CFString?) -> Void = { _ in }
    var cancel: (CFString?) -> Void = { _ in }
    var source: CFRunLoopSource?
    var timer: CFRunLoopTimer?
    var observer: CFRunLoopObserver?
    var descriptor: Int32 = -1

    init(_ perform: @escaping () -> Void) { self.perform = perform }
    deinit { if descriptor >= 0 { close(descriptor) } }

    static func from(_ pointer: UnsafeMutableRawPointer?) -> CFItem {
        Unmanaged<CFItem>.fromOpaque(pointer!).takeUnretainedValue()
    }

    var port: Int32 { descriptor }

    func invalidate() {
        if let source { CFRunLoopSourceInvalidate(source) }
        if let timer { CFRunLoopTimerInvalidate(timer) }
        if let observer { CFRunLoopObserverInvalidate(observer) }
    }

    var isValid: Bool {
        if let source { return CFRunLoopSourceIsValid(source) }
        if let timer { return CFRunLoopTimerIsValid(timer) }
        return CFRunLoopObserverIsValid(observer)
    }

    func signal() { CFRunLoopSourceSignal(source) }
    func signalAndWake() { signal() }
    func send() { eventfd_write(descriptor, 1) }

    var secondsToFire: Double {
        get { CFRunLoopTimerGetNextFireDate(timer) - CFAbsoluteTimeGetCurrent() }
        set { CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent() + newValue) }
    }
}
