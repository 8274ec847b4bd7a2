import Synchronization

// Counting calls from outside: without a change in the class whose objects are counted.

extension FeedbackLoopDetector {
    /// Counts a call that is about to be made. For code that no wrapper can be put around.
    ///
    /// ```swift
    /// func layout() {
    ///     guard detector.count(self, "layout") else { return }
    ///     …
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - object: The object that is called. It is not retained.
    ///   - name: What is called. Calls of different names are counted separately.
    ///   - cause: What the caller is, for the report. Evaluated only if the call may be counted.
    ///   - file: The place in the source code, which the report names if there is neither a cause nor an enclosing
    ///     watched call.
    ///   - line: The same.
    /// - Returns: Whether to make the call. False only with ``Action/dropCalls``, once the threshold is reached. True
    ///   if nothing was counted: the detector is off, or the caller is on another thread or in no pass of the loop.
    @discardableResult
    public func count(
        _ object: AnyObject, _ name: String, cause: @autoclosure () -> String? = nil, file: StaticString = #fileID,
        line: UInt = #line
    ) -> Bool {
        if case .dropped = verdict(on: object, name, cause, CallSite(file: file, line: line)) { false } else { true }
    }

    /// Counts a call and makes it. Calls that are counted inside it have it as their caller in the report.
    ///
    /// - Parameters:
    ///   - name: What is called.
    ///   - object: The object that is called. It is not retained.
    ///   - cause: What the caller is, for the report. Without one, the watched call around this one.
    ///   - file: As for ``count(_:_:cause:file:line:)``.
    ///   - line: The same.
    ///   - body: The call.
    /// - Returns: The result of `body`; nil if ``Action/dropCalls`` has dropped the call.
    @discardableResult
    public func call<Result, Failure: Error>(
        _ name: String, of object: AnyObject, cause: @autoclosure () -> String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try call(name, of: object, cause, CallSite(file: file, line: line), body)
    }

    /// Wraps a closure: each call of the result is counted, and then calls the closure. It is not called if
    /// ``Action/dropCalls`` drops the call.
    ///
    /// - Parameters:
    ///   - name: What is called.
    ///   - object: The object that is called. The result does not retain it; once the object is deallocated, calls are
    ///     not counted.
    ///   - file: As for ``count(_:_:cause:file:line:)``: the place where the closure is wrapped.
    ///   - line: The same.
    ///   - body: The closure.
    /// - Returns: A closure that retains the detector. For a handler, which must be `@Sendable`, use
    ///   ``call(_:of:cause:file:line:_:)`` inside it.
    public func wrap(
        _ name: String, of object: AnyObject, file: StaticString = #fileID, line: UInt = #line,
        _ body: @escaping () -> Void
    ) -> () -> Void {
        let site = CallSite(file: file, line: line)
        return { [self, weak object] in
            guard let object else { return body() }
            call(name, of: object, { nil }, site, body)
        }
    }

    func call<Result, Failure: Error>(
        _ name: String, of object: AnyObject, _ cause: () -> String?, _ site: CallSite?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        switch verdict(on: object, name, cause, site) {
        case .uncounted: return try body()
        case .dropped: return nil
        case .counted(let tally, let counts):
            counts.beginCall(tally)
            defer { counts.endCall() }
            return try body()
        }
    }
}

// MARK: Watching

extension FeedbackLoopDetector {
    /// Counts the calls of a limited method, on the objects that they run for. The callers and the class do not change.
    ///
    /// ```swift
    /// final class Document: Sendable {
    ///     static let layouting = ThrottledMethod<Document, Void>("layout") { document, _ in … }
    ///     func layout() { Document.layouting(self) }
    /// }
    ///
    /// detector.watch(Document.layouting)
    /// ```
    ///
    /// A call is counted when the body runs: one that a rule holds back is counted then, and one that a rule ignores is
    /// not counted. Each detector counts the calls on its own loop's thread.
    ///
    /// - Returns: An object that ends the watch. Releasing it changes nothing.
    @discardableResult
    public func watch<Target: AnyObject & Sendable, Input: Sendable>(
        _ method: ThrottledMethod<Target, Input>
    ) -> Watch {
        // Not weakly: a method is usually static, and the body does not retain the watch.
        let watch = Watch(of: self) { [body = method.body] watch in body.removeWatches(of: watch) }
        method.body.add(
            { [weak self, name = method.name] target, run in
                guard let self else { return run() }
                call(name, of: target, { nil }, nil, run)
            }, of: watch)
        keep(watch)
        return watch
    }

    /// Counts the calls of a closure that a property of an object has: replaces it by one that counts, and then calls
    /// it.
    ///
    /// ```swift
    /// final class Panel { var onLayout: () -> Void = {} }
    /// detector.watch(panel, \.onLayout, as: "layout")
    /// ```
    ///
    /// On a thread that may access the property. A closure that is assigned later is not counted.
    ///
    /// - Parameters:
    ///   - object: The object. It is not retained.
    ///   - path: The property.
    ///   - name: What is called, for the report.
    ///   - file: As for ``count(_:_:cause:file:line:)``: the place of this call.
    ///   - line: The same.
    /// - Returns: An object that ends the watch: the property keeps its new closure, which then only calls the old one.
    ///   Releasing it changes nothing.
    @discardableResult
    public func watch<Object: AnyObject>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, () -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        let watched = watched(object, name, file, line)
        let body = object[keyPath: path]
        object[keyPath: path] = { watched.call(body) }
        return watched.watch
    }

    /// The same for a closure that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable () -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        let watched = watched(object, name, file, line)
        let body = object[keyPath: path]
        object[keyPath: path] = { watched.call(body) }
        return watched.watch
    }

    /// The same for a closure with a parameter.
    @discardableResult
    public func watch<Object: AnyObject, Input>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, (Input) -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        let watched = watched(object, name, file, line)
        let body = object[keyPath: path]
        object[keyPath: path] = { input in watched.call { body(input) } }
        return watched.watch
    }

    /// The same for a closure with a parameter that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject, Input>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable (Input) -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        let watched = watched(object, name, file, line)
        let body = object[keyPath: path]
        object[keyPath: path] = { input in watched.call { body(input) } }
        return watched.watch
    }

    private func watched(
        _ object: AnyObject, _ name: String, _ file: StaticString, _ line: UInt
    ) -> WatchedProperty {
        let watch = Watch(of: self) { _ in }
        keep(watch)
        return WatchedProperty(object, name, CallSite(file: file, line: line), self, watch)
    }
}

/// A closure in a property of an object.
private final class WatchedProperty: @unchecked Sendable {
    private weak let object: AnyObject?
    private let name: String
    private let site: CallSite
    private weak let detector: FeedbackLoopDetector?
    let watch: FeedbackLoopDetector.Watch

    init(
        _ object: AnyObject, _ name: String, _ site: CallSite, _ detector: FeedbackLoopDetector,
        _ watch: FeedbackLoopDetector.Watch
    ) {
        (self.object, self.name, self.site) = (object, name, site)
        (self.detector, self.watch) = (detector, watch)
    }

    func call(_ body: () -> Void) {
        guard watch.isActive, let object, let detector else { return body() }
        detector.call(name, of: object, { nil }, site, body)
    }
}
