// What diagnostics ask about a descriptor.

extension Loop.FileDescriptorSource {
    /// Whether the loop calls the source again at once: it is level-triggered and armed, and its descriptor ready for
    /// what it waits for, or hung up. Asks the kernel.
    package var isReadyAgain: Bool { trigger == .level && isArmed && !readiness.isEmpty }

    private var readiness: PollEvents { System.readiness(of: descriptor, for: PollEvents(interest)) }

    /// Whether a handler that reads may leave `waitingBytes` as they are. Asks the kernel.
    package var mayHideReads: Bool {
        System.mayHideReads(of: descriptor, hasHungUp: readiness.contains(.hangUp))
    }

    /// How many bytes wait to be read from the descriptor, and how many to be sent; -1 where the kernel does not know.
    package var waitingBytes: (unread: Int32, unsent: Int32) { System.waitingBytes(in: descriptor) }
}
