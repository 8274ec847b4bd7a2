// Which loops call handlers of the main actor.

extension Loop {
    /// Whether handlers of the main actor may be called on the loop: it is the main loop, or in virtual time, where
    /// each call is checked.
    var takesMainActor: Bool { isMain || clock.isVirtual }

    /// Traps unless the caller is on the main actor. If Dispatch finds that out, its trap has no text.
    @inline(never)
    static func requireMainActor(_ name: @autoclosure () -> String) {
        MainActor.preconditionIsolated(
            "RunLoopKit: \(name()) has a handler of the main actor, and its loop in virtual time runs elsewhere: run "
                + "it on the main actor.")
    }
}

extension Loop.Item {
    /// The thread of `Loop.main` is the main actor's. A loop in virtual time may be on any.
    @inline(__always)
    final func requireActor(on loop: Loop) {
        if isolation == .mainActor, !loop.isMain { Loop.requireMainActor(name) }
    }
}
