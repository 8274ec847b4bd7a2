internal import CoreFoundation
public import Foundation
public import RunLoopKit

/// Serves `Loop.main` and Foundation's `RunLoop.main` together, on the process's initial thread.
///
/// ```swift
/// let bridge = try FoundationBridge.begin()
/// bridge.run()  // in place of Loop.main.run() or RunLoop.main.run()
/// bridge.end()
/// ```
///
/// From ``begin()`` on, whatever runs `RunLoop.main` in a common mode serves `Loop.main` too: ``run()``,
/// `RunLoop.main.run(until:)`, `CFRunLoopRun`, `Process.waitUntilExit`, a nested run in a handler. The main `CFRunLoop`
/// watches the descriptor of the hosted loop. Nothing polls, and no thread is added.
///
/// `Loop.main.run()` itself serves only what is RunLoopKit's, the main queue and the main actor: `CFRunLoop` does not
/// hand out the descriptor that it sleeps on. So the outermost run is ``run()``.
///
/// CF: none.
@MainActor public final class FoundationBridge {
    /// The bridge that has begun and not ended; nil if there is none.
    public private(set) static var current: FoundationBridge?

    private let source: CFRunLoopSource
    private var observer: CFRunLoopObserver?

    /// How many runs of the main `CFRunLoop` in common modes are active.
    private var depth = 0

    /// The depth of the innermost active ``run()``; zero if there is none.
    private var depthOfRun = 0

    /// Whether a stop is to end the innermost ``run()``, in which another run is nested at the moment.
    private var isStopping = false

    private init(watching descriptor: Int32) {
        source = makeSource(watching: descriptor)
        observer = makeObserver()
        CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopCommonModes)
        CFRunLoopAddSource(CFRunLoopGetMain(), source, kCFRunLoopCommonModes)
    }

    /// Lets `RunLoop.main` host `Loop.main`, in the default mode of `Loop.main` and the common modes of `RunLoop.main`.
    /// On the initial thread.
    ///
    /// If a bridge has begun already, it is returned.
    ///
    /// - Throws: `LoopError`, as `Loop.hosting.begin(in:)` does, usually because the process has no descriptor left.
    /// - Precondition: `Loop.main` is not running and not hosted otherwise, and its thread has not been given away;
    ///   traps if not. Inside `Loop.runMain` it runs: begin before that call.
    @discardableResult
    public static func begin() throws(LoopError) -> FoundationBridge {
        if let current { return current }
        let bridge = FoundationBridge(watching: try Loop.main.hosting.begin())
        current = bridge
        return bridge
    }

    /// Whether the bridge has not ended.
    public var isActive: Bool { FoundationBridge.current === self }

    /// Runs both loops until `Loop.main.stop()`, `CFRunLoopStop` or ``end()``. On the initial thread. A handler may
    /// call it: that run is nested in the one that called the handler.
    ///
    /// A stop ends the innermost run of either library. If a handler runs `RunLoop.main` nested in this run when
    /// `Loop.main` is stopped, both end: the nested run at once, and this one as soon as the handler has returned.
    /// (`RunLoop.run(until:)` consists of several runs, of which a stop ends only one.)
    ///
    /// - Precondition: The bridge is active; traps if not.
    public func run() { _ = run(for: .infinity) }

    /// As ``run()``, until a date on the wall clock at the latest. On the initial thread.
    ///
    /// A date that is not in the future, or not a number, makes one pass that does not sleep. The length is determined
    /// when the call begins; more than about 16 years is forever.
    ///
    /// - Returns: `timedOut` at the date, otherwise `stopped`.
    /// - Precondition: The bridge is active; traps if not.
    @discardableResult
    public func run(until date: Date) -> Loop.RunResult {
        let seconds = date.timeIntervalSinceNow
        return run(for: seconds.isNaN ? 0 : seconds)
    }

    /// Ends the bridge: each library's loop is then its own again. On the initial thread. An active ``run()`` returns.
    ///
    /// In a handler of `Loop.main` the loop counts as hosted until the handler has returned. On a bridge that has ended
    /// it does nothing.
    public func end() {
        guard isActive else { return }
        FoundationBridge.current = nil
        CFRunLoopSourceInvalidate(source)
        Loop.main.hosting.end()
        // Otherwise the observer of an active run ends it.
        if depthOfRun == 0 { invalidateObserver() } else { stopRun() }
    }

    // MARK: Running

    private func run(for seconds: TimeInterval) -> Loop.RunResult {
        guard isActive else { fatalError("RunLoopKitFoundation: FoundationBridge.run was called after end().") }
        // A stop that has come before is meant for the outer run.
        let (outer, isOuterStopping) = (depthOfRun, isStopping)
        (depthOfRun, isStopping) = (depth + 1, false)
        defer {
            (depthOfRun, isStopping) = (outer, isOuterStopping)
            if !isActive { if outer == 0 { invalidateObserver() } else { isStopping = true } }
        }
        // CF takes what is longer than 16 years as forever.
        let result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, min(seconds, 1e10), false)
        return result == .timedOut ? .timedOut : .stopped
    }

    fileprivate func servePass() {
        if isActive, Loop.main.hosting.pass() == .stopped, isActive { stopRun() }
    }

    /// Ends the innermost run of the main `CFRunLoop`, and the innermost ``run()``.
    private func stopRun() {
        CFRunLoopStop(CFRunLoopGetMain())
        if depthOfRun > 0 { isStopping = true }
    }

    fileprivate func mainLoopReached(_ activity: CFRunLoopActivity) {
        switch activity {
        case .entry: depth += 1
        case .exit: depth = max(0, depth - 1)  // The bridge may have begun inside a run.
        default: if isStopping, depth == depthOfRun { CFRunLoopStop(CFRunLoopGetMain()) }
        }
    }

    private func makeObserver() -> CFRunLoopObserver? {
        let activities: [CFRunLoopActivity] = [.entry, .beforeTimers, .exit]
        return CFRunLoopObserverCreateWithHandler(
            nil, activities.reduce(0) { $0 | $1.rawValue }, true, Int.min
        ) { _, activity in
            MainActor.assumeIsolated { self.mainLoopReached(activity) }
        }
    }

    private func invalidateObserver() {
        if let observer { CFRunLoopObserverInvalidate(observer) }
        observer = nil
    }
}

/// Makes a version-1 source of CF, whose port is a descriptor that CF only watches.
private func makeSource(watching descriptor: Int32) -> CFRunLoopSource {
    var context = CFRunLoopSourceContext1()
    context.version = 1
    context.info = UnsafeMutableRawPointer(bitPattern: Int(descriptor))
    context.getPort = { info in Int32(Int(bitPattern: info)) }
    context.perform = { _ in MainActor.assumeIsolated { FoundationBridge.current?.servePass() } }
    return withUnsafeMutableBytes(of: &context) { bytes in
        // What begins with the version is one of several structures.
        CFRunLoopSourceCreate(nil, 0, bytes.assumingMemoryBound(to: CFRunLoopSourceContext.self).baseAddress)
    }
}
