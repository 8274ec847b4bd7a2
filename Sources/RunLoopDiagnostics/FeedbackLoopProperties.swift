// Counting the calls of closures that properties have.

import RunLoopKit

extension FeedbackLoopDetector {
    /// Counts the calls of a closure that a property of an object has: replaces it by one that counts, and then calls
    /// it.
    ///
    /// ```swift
    /// final class Panel { var onLayout: () -> Void = {} }
    /// let panel = Panel()
    /// detector.watch(panel, \.onLayout, as: "layout")
    /// ```
    ///
    /// On a thread that may access the property. A closure that is assigned later is not counted: watch the property
    /// again. That returns the same watch, and each call is counted once, whatever the property has now. For a closure
    /// with a result, or more than three parameters, assign what `wrap(name, of: object, …)` returns.
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
        watch(object, path, name, file, line) { watched, body in { watched.call(body) } }
    }

    /// The same for a closure that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable () -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in { watched.call(body) } }
    }

    /// The same for a closure with a parameter.
    @discardableResult
    public func watch<Object: AnyObject, Input>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, (Input) -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in { input in watched.call { body(input) } } }
    }

    /// The same for a closure with a parameter that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject, Input>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable (Input) -> Void>, as name: String,
        file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in { input in watched.call { body(input) } } }
    }

    /// The same for a closure with two parameters.
    @discardableResult
    public func watch<Object: AnyObject, First, Second>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, (First, Second) -> Void>,
        as name: String, file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in
            { first, second in watched.call { body(first, second) } }
        }
    }

    /// The same for a closure with two parameters that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject, First, Second>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable (First, Second) -> Void>,
        as name: String, file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in
            { first, second in watched.call { body(first, second) } }
        }
    }

    /// The same for a closure with three parameters.
    @discardableResult
    public func watch<Object: AnyObject, First, Second, Third>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, (First, Second, Third) -> Void>,
        as name: String, file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in
            { first, second, third in watched.call { body(first, second, third) } }
        }
    }

    /// The same for a closure with three parameters that is `@Sendable`.
    @discardableResult
    public func watch<Object: AnyObject, First, Second, Third>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, @Sendable (First, Second, Third) -> Void>,
        as name: String, file: StaticString = #fileID, line: UInt = #line
    ) -> Watch {
        watch(object, path, name, file, line) { watched, body in
            { first, second, third in watched.call { body(first, second, third) } }
        }
    }

    /// Replaces a closure by what `counting` makes of it.
    private func watch<Object: AnyObject, Body>(
        _ object: Object, _ path: ReferenceWritableKeyPath<Object, Body>, _ name: String, _ file: StaticString,
        _ line: UInt, _ counting: (WatchedProperty, Body) -> Body
    ) -> Watch {
        let watch = keep(Watch(path, of: object, by: self))
        let watched = WatchedProperty(object, name, CallSite(file: file, line: line), self, watch)
        object[keyPath: path] = counting(watched, object[keyPath: path])
        return watch
    }
}

/// A closure in a property of an object.
private final class WatchedProperty: @unchecked Sendable {
    private weak let object: AnyObject?
    private let name: String
    private let site: CallSite
    private weak let detector: FeedbackLoopDetector?
    private let watch: FeedbackLoopDetector.Watch
    private let replacement: Int

    init(
        _ object: AnyObject, _ name: String, _ site: CallSite, _ detector: FeedbackLoopDetector,
        _ watch: FeedbackLoopDetector.Watch
    ) {
        (self.object, self.name, self.site) = (object, name, site)
        (self.detector, self.watch, replacement) = (detector, watch, watch.replace())
    }

    func call(_ body: () -> Void) {
        guard watch.counts(replacement: replacement), let object, let detector else { return body() }
        detector.call(name, of: .object(object), { nil }, site, body)
    }
}
