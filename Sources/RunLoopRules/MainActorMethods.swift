// Limited methods whose bodies belong to the main actor, and may touch its state.
//
// Unlike an item or a limiter, a method is called by its callers, on their threads, and by rules that may name any
// loop. So each call of the body checks where it is.

import RunLoopKit

extension LimitedMethod where Target: AnyObject {
    /// Declares a method whose body belongs to the main actor, and may touch its state: a method of a `@MainActor`
    /// class.
    ///
    /// ```swift
    /// @MainActor final class Page {
    ///     static let saving = LimitedMethod<Page, String>("save", isolation: .shared) { page, text in
    ///         page.saved.append(text)
    ///     }
    ///     private(set) var saved: [String] = []
    ///     func save(_ text: String) { Page.saving(self, text) }
    /// }
    /// try Page.saving.limit(for: Page.self, every: .seconds(1))  // on the main loop
    /// ```
    ///
    /// Without `isolation:` the body is `@Sendable`, and may run on any thread. With it the body runs where the main
    /// actor does, and nothing else changes: a call runs the body on the caller's thread, or a rule holds it back and
    /// runs it on the rule's loop. So all callers must be on the main actor, and all rules must be for `Loop.main`,
    /// which is their default. A `static let` of a `@MainActor` class is isolated as well, so the compiler refuses
    /// callers elsewhere; and a rule is then made on the main actor.
    ///
    /// - Parameters:
    ///   - name: The name of the method in rules, errors and snapshots. Traps if the engine has a method of the same
    ///     class and name: make it once, as a constant.
    ///   - mainActor: `.shared`.
    ///   - engine: The engine that keeps the rules. Tests use engines of their own.
    ///   - file: The source file that declares the method, for the message of a call that traps.
    ///   - line: The line in that file.
    ///   - body: What the method does. Called with no lock held, on the main actor. A call elsewhere traps: its caller
    ///     is not on the main actor, or a rule of the method has another loop.
    public convenience init(
        _ name: String, isolation mainActor: MainActor, engine: RuleEngine = .shared,
        file: StaticString = #fileID, line: UInt = #line,
        body: @escaping @MainActor (_ target: Target, _ input: Input) -> Void
    ) {
        self.init(name, engine: engine, body: onMainActor(name, body, file, line))
    }
}

extension LimitedMethod {
    /// Declares a static method of a type whose body belongs to the main actor, and may touch its state. The parameters
    /// are those of methods of objects.
    public convenience init<Declaring>(
        _ name: String, isolation mainActor: MainActor, engine: RuleEngine = .shared,
        file: StaticString = #fileID, line: UInt = #line,
        body: @escaping @MainActor (_ target: Declaring.Type, _ input: Input) -> Void
    ) where Target == Declaring.Type {
        self.init(name, engine: engine, body: onMainActor(name, body, file, line))
    }
}

/// A body that traps unless it is called on the main actor.
private func onMainActor<Target: Sendable, Input: Sendable>(
    _ name: String, _ body: @escaping @MainActor (Target, Input) -> Void, _ file: StaticString, _ line: UInt
) -> @Sendable (Target, Input) -> Void {
    { target, input in
        guard !isOnAnotherLoop else {
            fatalError(
                "RunLoopKit: the limited method \"\(name.printable)\" belongs to the main actor, and was to run on "
                    + "the thread \"\(Loop.current.threadName)\": it was called there, or held back by a rule for that "
                    + "thread's loop. Call it on the main actor, and make its rules for Loop.main.", file: file,
                line: line)
        }
        MainActor.assumeIsolated({ body(target, input) }, file: file, line: line)
    }
}

/// Whether the caller is in a handler of a loop, or in a job on it, and so certainly not on the main actor: Swift's own
/// check would trap without a message. In a program that has given its initial thread away, a task of the main actor is
/// on another thread, and may run a loop in virtual time.
private var isOnAnotherLoop: Bool {
    guard !System.isInitialThread else { return false }
    let loop = Loop.current
    return loop.currentMode != nil && (loop.isInsideJob || withUnsafeCurrentTask { $0 == nil })
}
