import Synchronization

/// A method that can be limited: its name and its body, declared once by its type. The ordinary method calls through
/// it, and so its callers do not change.
///
/// For methods whose callers you cannot, or do not want to, tell how often is too often: rules that stand elsewhere
/// limit them, for one object, for a class or for a type's static methods; see `ThrottleEngine`. Where the limit
/// belongs to the code that calls, a `Throttle` or a `Debounce` is simpler.
///
/// ```swift
/// final class Document: Sendable {
///     static let saving = Message<Document, String>("save") { document, text in print("saved \(text)") }
///     func save(_ text: String) { Document.saving(self, text) }
///
///     static let purging = Message<Document.Type, Int>("purge") { type, days in print("purged") }
///     static func purge(olderThan days: Int) { purging(self, days) }
/// }
///
/// let document = Document()
/// let rule = try Document.saving.limit(for: document, every: .seconds(1))  // a debounce, on the main loop
/// for text in ["a", "b", "c"] { document.save(text) }  // saved c, a second later
/// rule.interval = .seconds(2)  // seen by the next message
/// try rule.discard()
/// ```
///
/// `limit` makes a rule and applies it. Where that is to be two steps, `rule(for:…)` makes one, and
/// `ThrottleRule.apply()` applies it.
///
/// Without any rule a call costs an atomic load more than calling the body. A message has no result: its body may run
/// later, or never.
///
/// The target of a message is an object, or a type for a static method. A message belongs to the class that declares
/// it; objects of subclasses are targets too, and a rule may be for a subclass. To override a limited method, let the
/// body call a method that subclasses override.
///
/// **Threads.** Everything may be called from any thread. The body runs on the caller's thread when nothing holds the
/// message back, and on the thread of the rule's loop otherwise; so `MainActor.assumeIsolated { … }` is right inside it
/// only if the callers are on the main actor too, and the rule's loop is `Loop.main`. MessageThrottle: the pair of a
/// class and a selector, which Swift does not have.
public final class Message<Target: Sendable, Input: Sendable>: @unchecked Sendable {
    @usableFromInline let book: RuleBook
    @usableFromInline let body: @Sendable (_ target: Target, _ input: Input) -> Void
    @usableFromInline let traits: TargetTraits<Target>

    private init(
        _ name: String, _ engine: ThrottleEngine, of declaringType: Any.Type,
        _ traits: TargetTraits<Target>, body: @escaping @Sendable (Target, Input) -> Void
    ) {
        self.body = body
        self.traits = traits
        book = RuleBook(name, of: declaringType, isStatic: traits.objectID == nil, engine: engine) {
            book, type, settings in
            MessageRule<Target, Input>(in: book, for: .type(type), settings)
        }
        engine.register(book)
    }

    deinit { book.engine.unregister(book) }

    /// Its name, as rules and errors give it.
    public var name: String { book.name }

    /// Sends the message: runs the body, unless a rule has it run later or not at all.
    ///
    /// Without a rule the body runs here and now. What rules do is told at `ThrottleRule.Mode`.
    @inlinable
    public func callAsFunction(_ target: Target, _ input: Input) {
        // Relaxed: it guards nothing. Who applied a rule and goes on to send a message sees its own store, and so does
        // whoever it tells; what the rules are is read with the lock held.
        if book.hasRules.load(ordering: .relaxed) {
            sendByRules(target, input)
        } else {
            body(target, input)
        }
    }

    // Inlined into the caller's module, where the types are known: it is several times faster then.
    @inlinable
    func sendByRules(_ target: Target, _ input: Input) {
        let object = traits.objectID?(target)
        let verdict = book.verdict(on: object, of: traits.type(target)) { rule in
            // The book's rules were all made by this message.
            unsafeDowncast(rule, to: MessageRule<Target, Input>.self).alwaysRun?(target, input) ?? false
        }
        switch verdict {
        case .run: body(target, input)
        case .ignore: break
        case .hold(let delayed):
            let isHeld = delayed.hold({ [body] in body(target, input) }, to: object) { traits.isGoing(target) }
            if !isHeld { body(target, input) }
        case .merge(let merged):
            // Made by a rule of this message, for its input.
            let merged = unsafeDowncast(merged, to: MergedMessages<Input>.self)
            let isHeld = merged.hold(
                input, to: object ?? ObjectIdentifier(traits.type(target)), isGoing: { traits.isGoing(target) },
                run: { [body] in body(target, $0) })
            if !isHeld { body(target, input) }
        }
    }
}

extension Message where Input == Void {
    /// Sends a message that has no input.
    @inlinable
    public func callAsFunction(_ target: Target) { self(target, ()) }
}

// MARK: Messages to objects

extension Message where Target: AnyObject {
    /// Declares a message of a class.
    ///
    /// - Parameters:
    ///   - name: What it is called in rules, errors and snapshots. Traps if the engine has a message of the same class
    ///     and name: a message is a constant, made once.
    ///   - engine: Which engine keeps the rules. One of its own is for tests.
    ///   - body: What the method does. Under a rule it is called on the rule's loop; with no lock held.
    public convenience init(
        _ name: String, engine: ThrottleEngine = .shared,
        body: @escaping @Sendable (_ target: Target, _ input: Input) -> Void
    ) {
        self.init(name, engine, of: Target.self, .object, body: body)
    }

    /// Makes a rule for one object, which is not retained. It goes before the rule of the object's class, and does
    /// nothing until `ThrottleRule.apply()`.
    ///
    /// - Parameters:
    ///   - object: Whose messages are limited. When it goes the rule discards itself.
    ///   - interval: How long a window is. Zero or less: no limit.
    ///   - mode: Which of the messages in a window runs, and when.
    ///   - loop: On whose thread messages run that were held back, in its common modes.
    ///   - alwaysRun: Messages for which it says true run at once, as if there were no rule. See
    ///     `MessageRule.alwaysRun`.
    ///   - combine: Merges the inputs of a burst, where the last one would be all that is left of it. See
    ///     `MessageRule.merging`.
    public func rule(
        for object: Target, interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MessageRule<Target, Input> {
        MessageRule(
            in: book, for: .object(object), .init(interval, mode, loop, merger: combine.map { Merger($0) }), alwaysRun)
    }

    /// Makes a rule for a class and its subclasses: it counts the messages to all their objects together. It does
    /// nothing until `ThrottleRule.apply()`.
    ///
    /// - Parameters:
    ///   - type: The class that declares the message, or a subclass.
    ///   - interval: How long a window is. Zero or less: no limit.
    ///   - mode: Which of the messages in a window runs, and when.
    ///   - loop: On whose thread messages run that were held back, in its common modes.
    ///   - isPersistent: Whether snapshots have it.
    ///   - alwaysRun: Messages for which it says true run at once, as if there were no rule.
    ///   - combine: Merges the inputs of a burst, each target's on their own. See `MessageRule.merging`.
    public func rule(
        for type: Target.Type, interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        isPersistent: Bool = false, alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MessageRule<Target, Input> {
        MessageRule(
            in: book, for: .type(type),
            .init(interval, mode, loop, isPersistent: isPersistent, merger: combine.map { Merger($0) }), alwaysRun)
    }
}

// MARK: Messages to types

extension Message {
    /// Declares a static message of a type: `Message<Cache.Type, Int>("purge") { type, limit in … }`.
    ///
    /// The parameters are those of messages to objects. The target is the type that the static method was called on,
    /// for a class also a subclass.
    public convenience init<Declaring>(
        _ name: String, engine: ThrottleEngine = .shared,
        body: @escaping @Sendable (_ target: Declaring.Type, _ input: Input) -> Void
    ) where Target == Declaring.Type {
        self.init(name, engine, of: Declaring.self, .type(), body: body)
    }

    /// Makes a rule for a type's static message, also when it is called on a subclass. The parameters are those of
    /// rules for classes.
    public func rule<Declaring>(
        for type: Declaring.Type, interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        isPersistent: Bool = false, alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) -> MessageRule<Target, Input> where Target == Declaring.Type {
        MessageRule(
            in: book, for: .type(type),
            .init(interval, mode, loop, isPersistent: isPersistent, merger: combine.map { Merger($0) }), alwaysRun)
    }
}
