// What diagnostics ask about a descriptor.

extension Loop.FileDescriptorSource {
    /// Whether the descriptor is ready for what the source waits for, or hung up. Asks the kernel.
    package var isDescriptorReady: Bool { !System.readiness(of: descriptor, for: PollEvents(interest)).isEmpty }

    /// How many bytes wait to be read from the descriptor, and how many to be sent; -1 where the kernel does not know.
    package var waitingBytes: (unread: Int32, unsent: Int32) { System.waitingBytes(in: descriptor) }
}
