// Limited methods: the only use that this target makes of RunLoopRules.

import RunLoopKit
import RunLoopRules

extension FeedbackLoopDetector {
    /// Counts the calls of a limited method, on the objects that they run for. The callers and the class do not change.
    ///
    /// ```swift
    /// final class Document: Sendable {
    ///     static let layouting = LimitedMethod<Document, Void>("layout") { document, _ in … }
    ///     func layout() { Document.layouting(self) }
    /// }
    ///
    /// detector.watch(Document.layouting)
    /// ```
    ///
    /// Calls of a limited static method are counted for each type that it is called on: a class and its subclasses have
    /// counts of their own.
    ///
    /// A call is counted when the body runs: one that a rule holds back is counted then, and one that a rule ignores is
    /// not counted. Each detector counts the calls on its own loop's thread, and each call once: watching a method
    /// again changes nothing, and returns the watch that exists.
    ///
    /// - Returns: An object that ends the watch. Releasing it changes nothing.
    @discardableResult
    public func watch<Target: Sendable, Input: Sendable>(_ method: LimitedMethod<Target, Input>) -> Watch {
        // Not weakly: a method is usually static, and the body does not retain the watch.
        let body = method.body
        let watch = Watch(of: Watched(body), by: self) { watch in body.removeWatches(of: watch) }
        let kept = keep(watch)
        guard kept === watch else { return kept }
        body.add(
            { [weak self, name = method.name, traits = method.traits] target, run in
                guard let self else { return run() }
                call(name, of: traits.counted(target), { nil }, nil, run)
            }, of: watch)
        // Cancelled meanwhile, before there was anything to remove.
        if !watch.isActive { body.removeWatches(of: watch) }
        return watch
    }
}

extension TargetTraits {
    /// What a detector counts the calls of.
    fileprivate func counted(_ target: Target) -> FeedbackLoopDetector.Target {
        // A target with an object's identity is an object, and so a reference.
        objectID == nil ? .type(type(target)) : .object(unsafeBitCast(target, to: AnyObject.self))
    }
}
