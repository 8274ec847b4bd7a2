import RunLoopKit
import Synchronization

/// A method that rules can limit: its name and its body, declared once by its type. The ordinary method calls through
/// it, so its callers do not change.
///
/// Use it where the callers of a method should not know how often is too often: rules made elsewhere limit the method,
/// for one object, for a class or for a type's static methods; see ``RuleEngine``. Where the limit belongs to the
/// code that calls, a `Throttle` or a `Debounce` is simpler.
///
/// ```swift
/// final class Document: Sendable {
///     static let saving = LimitedMethod<Document, String>("save") { document, text in print("saved \(text)") }
///     func save(_ text: String) { Document.saving(self, text) }
///
///     static let purging = LimitedMethod<Document.Type, Int>("purge") { type, days in print("purged") }
///     static func purge(olderThan days: Int) { purging(self, days) }
/// }
///
/// let document = Document()
/// let rule = try Document.saving.limit(for: document, every: .seconds(1))  // a debounce, on the main loop
/// for text in ["a", "b", "c"] { document.save(text) }  // saved c, a second later
/// rule.interval = .seconds(2)  // seen by the next call
/// try rule.discard()
/// ```
///
/// `limit` makes a rule and applies it. To do that in two steps, make a rule with `rule(for:…)` and apply it with
/// ``AnyMethodRule/apply()``.
///
/// Without any rule a call costs two atomic loads more than calling the body. A limited method has no result: its
/// body may run later, or never.
///
/// The target of a call is an object, or a type for a static method. The method belongs to the class that declares it;
/// objects of subclasses are targets too, and a rule may be for a subclass. To override a limited method, let the body
/// call a method that subclasses override.
///
/// **Threads.** Everything may be called from any thread. The body runs on the caller's thread if no rule holds the
/// call back, and on the thread of the rule's loop otherwise. For a `@MainActor` class, declare the method with
/// `isolation: .shared`: then the body may touch the class's state, all callers must be on the main actor, and the
/// rules must be for `Loop.main`. For an actor on a loop, call `target.assumeIsolated { … }` in the body: then the
/// rules must be for the actor's loop. MessageThrottle: the pair of a class and a selector, which Swift does not have.
public final class LimitedMethod<Target: Sendable, Input: Sendable>: @unchecked Sendable {
    @usableFromInline let book: RuleBook
    @usableFromInline package let body: MethodBody<Target, Input>
    @usableFromInline package let traits: TargetTraits<Target>

    private init(
        _ name: String, _ engine: RuleEngine, of declaringType: Any.Type,
        _ traits: TargetTraits<Target>, body: @escaping @Sendable (Target, Input) -> Void
    ) {
        self.body = MethodBody(body)
        self.traits = traits
        book = RuleBook(name, of: declaringType, isStatic: traits.objectID == nil, engine: engine) {
            book, type, settings in
            MethodRule<Target, Input>(in: book, for: .type(type), settings)
        }
        engine.register(book)
    }

    deinit { book.engine.unregister(book) }

    /// The name of the method in rules, errors and snapshots.
    public var name: String { book.name }

    /// Calls the method: runs the body, unless a rule delays or ignores the call.
    ///
    /// Without a rule the body runs before this returns. ``AnyMethodRule/Mode`` describes what rules do.
    @inlinable
    public func callAsFunction(_ target: Target, _ input: Input) {
        // Relaxed: it guards nothing. A thread that has applied a rule sees its own store, and so does every thread
        // that synchronizes with it later; the rules themselves are read with the lock held.
        if book.hasRules.load(ordering: .relaxed) {
            callByRules(target, input)
        } else {
            body(target, input)
        }
    }

    // Inlined into the caller's module, which knows the types: that makes it several times faster.
    @inlinable
    func callByRules(_ target: Target, _ input: Input) {
        let object = traits.objectID?(target)
        // Relaxed: see `RuleBook.mayDelay`.
        if let object, book.mayHaveDelayed.load(ordering: .relaxed), hasReplacedInput(on: target, object, with: input) {
            return
        }
        let verdict = book.verdict(on: object, of: traits.type(target)) { rule in
            // All rules of the book were made by this method.
            unsafeDowncast(rule, to: MethodRule<Target, Input>.self).alwaysRun?(target, input) ?? false
        }
        switch verdict {
        case .run: body(target, input)
        case .ignore: break
        // Made by a rule of this method, for its target and input.
        case .hold(let held) where held.merges:
            let merged = unsafeDowncast(held, to: MergedCalls<Input>.self)
            let isHeld = merged.hold(
                input, on: object ?? ObjectIdentifier(traits.type(target)),
                isDeallocating: { traits.isDeallocating(target) },
                run: { [body] in body(target, $0) })
            if !isHeld { body(target, input) }
        case .hold(let held):
            let delayed = unsafeDowncast(held, to: DelayedCall<Target, Input>.self)
            let isHeld = delayed.hold(.init(object, target, input, body)) { traits.isDeallocating(target) }
            if !isHeld { body(target, input) }
        }
    }

    /// Handles a call as most are under a rule that delays: inside a burst, on the object that the delayed call is for.
    /// Returns false, without doing anything, if it is another one.
    @inlinable
    func hasReplacedInput(on target: Target, _ object: ObjectIdentifier, with input: Input) -> Bool {
        guard let held = book.delayedCall(on: object, of: traits.type(target)) else { return false }
        let delayed = unsafeDowncast(held, to: DelayedCall<Target, Input>.self)
        guard let isHeld = delayed.replaceInput(with: input, on: object) else { return false }
        if !isHeld { body(target, input) }
        return true
    }
}

extension LimitedMethod where Input == Void {
    /// Calls a method that has no input.
    @inlinable
    public func callAsFunction(_ target: Target) { self(target, ()) }
}

// MARK: Methods of objects

extension LimitedMethod where Target: AnyObject {
    /// Declares a method of a class.
    ///
    /// - Parameters:
    ///   - name: The name of the method in rules, errors and snapshots. Traps if the engine has a method of the same
    ///     class and name: make it once, as a constant.
    ///   - engine: The engine that keeps the rules. Tests use engines of their own.
    ///   - body: What the method does. Called with no lock held; on the rule's loop if a rule delays the call.
    public convenience init(
        _ name: String, engine: RuleEngine = .shared,
        body: @escaping @Sendable (_ target: Target, _ input: Input) -> Void
    ) {
        self.init(name, engine, of: Target.self, .object, body: body)
    }

    /// Makes a rule for one object, which takes precedence over the rule of the object's class. It does nothing until
    /// ``AnyMethodRule/apply()``.
    ///
    /// - Parameters:
    ///   - object: The object whose calls are limited. It is not retained; when it is deallocated the rule discards
    ///     itself.
    ///   - interval: The length of a window. Zero or less: no limit.
    ///   - mode: Which of the calls in a window runs, and when.
    ///   - loop: The loop on whose thread delayed calls run, in its common modes.
    ///   - alwaysRun: Calls for which it returns true run at once, as if there were no rule. A trailing
    ///     closure is this one. See ``MethodRule/alwaysRun``.
    ///   - combine: Merges the inputs of a burst, of which only the last one counts otherwise. See
    ///     ``MethodRule/merging``.
    public func rule(
        for object: Target, interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MethodRule<Target, Input> {
        MethodRule(
            in: book, for: .object(object), .init(interval, mode, loop, merger: combine.map { Merger($0) }), alwaysRun)
    }

    /// Makes a rule for a class and its subclasses, which counts the calls on all their objects together. It does
    /// nothing until ``AnyMethodRule/apply()``.
    ///
    /// - Parameters:
    ///   - type: The class that declares the method, or a subclass.
    ///   - interval: The length of a window. Zero or less: no limit.
    ///   - mode: Which of the calls in a window runs, and when.
    ///   - loop: The loop on whose thread delayed calls run, in its common modes.
    ///   - isPersistent: Whether snapshots contain the rule.
    ///   - alwaysRun: Calls for which it returns true run at once, as if there were no rule. A trailing
    ///     closure is this one. See ``MethodRule/alwaysRun``.
    ///   - combine: Merges the inputs of a burst, separately for each target. See ``MethodRule/merging``.
    public func rule(
        for type: Target.Type, interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        isPersistent: Bool = false, alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MethodRule<Target, Input> {
        MethodRule(
            in: book, for: .type(type),
            .init(interval, mode, loop, isPersistent: isPersistent, merger: combine.map { Merger($0) }), alwaysRun)
    }
}

// MARK: Static methods

extension LimitedMethod {
    /// Declares a static method of a type: `LimitedMethod<Cache.Type, Int>("purge") { type, limit in … }`.
    ///
    /// The parameters are those of methods of objects. The target is the type that the static method was called on; for
    /// a class it may be a subclass.
    public convenience init<Declaring>(
        _ name: String, engine: RuleEngine = .shared,
        body: @escaping @Sendable (_ target: Declaring.Type, _ input: Input) -> Void
    ) where Target == Declaring.Type {
        self.init(name, engine, of: Declaring.self, .type(), body: body)
    }

    /// Makes a rule for a type's static method, which includes calls on a subclass. The parameters are those of rules
    /// for classes.
    public func rule<Declaring>(
        for type: Declaring.Type, interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        isPersistent: Bool = false, alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MethodRule<Target, Input> where Target == Declaring.Type {
        MethodRule(
            in: book, for: .type(type),
            .init(interval, mode, loop, isPersistent: isPersistent, merger: combine.map { Merger($0) }), alwaysRun)
    }
}
