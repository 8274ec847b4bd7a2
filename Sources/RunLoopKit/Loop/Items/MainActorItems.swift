// Which loops call handlers of the main actor.

extension Loop {
    /// Whether handlers of the main actor may be called on the loop: it is the main loop, or in virtual time, where
    /// each call is checked.
    var takesMainActor: Bool { isMain || clock.isVirtual }

    /// Traps unless the caller is on the main actor.
    @inline(never)
    static func requireMainActor() { MainActor.assumeIsolated {} }
}
