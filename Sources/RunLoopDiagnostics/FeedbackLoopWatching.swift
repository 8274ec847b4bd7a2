// Counting calls from outside: without a change in the class whose objects are counted.

import RunLoopKit

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
        guard isOn else { return true }
        let verdict = verdict(on: .object(object), name, cause, CallSite(file: file, line: line))
        return if case .dropped = verdict { false } else { true }
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
        try call(name, of: .object(object), cause, CallSite(file: file, line: line), body)
    }

    /// Wraps a closure with any number of parameters: each call of the result is counted, and then calls the closure.
    /// It is not called if ``Action/dropCalls`` drops the call.
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
    public func wrap<each Input>(
        _ name: String, of object: AnyObject, file: StaticString = #fileID, line: UInt = #line,
        _ body: @escaping (repeat each Input) -> Void
    ) -> (repeat each Input) -> Void {
        wrap(name, of: object, ifDropped: (), file: file, line: line, body)
    }

    /// The same for a closure with a result.
    ///
    /// ```swift
    /// panel.preferredHeight = detector.wrap("height", of: panel, ifDropped: 0, panel.preferredHeight)
    /// ```
    ///
    /// - Parameters:
    ///   - name: What is called.
    ///   - object: The object that is called. The result does not retain it; once the object is deallocated, calls are
    ///     not counted.
    ///   - result: What the returned closure returns if ``Action/dropCalls`` drops the call. Evaluated then.
    ///   - file: The place in the source code, which the report names if there is neither a cause nor an enclosing
    ///     watched call.
    ///   - line: The same.
    ///   - body: The closure.
    /// - Returns: As above.
    public func wrap<each Input, Result>(
        _ name: String, of object: AnyObject, ifDropped result: @escaping @autoclosure () -> Result,
        file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (repeat each Input) -> Result
    ) -> (repeat each Input) -> Result {
        let site = CallSite(file: file, line: line)
        return { [self, weak object] (input: repeat each Input) in
            guard let object else { return body(repeat each input) }
            return call(name, of: .object(object), { nil }, site) { body(repeat each input) } ?? result()
        }
    }

    func call<Result, Failure: Error>(
        _ name: String, of target: Target, _ cause: () -> String?, _ site: CallSite?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard isOn else { return try body() }
        switch verdict(on: target, name, cause, site) {
        case .uncounted: return try body()
        case .dropped: return nil
        case .counted(let tally, let counts):
            counts.beginCall(tally)
            defer { counts.endCall() }
            return try body()
        }
    }
}
