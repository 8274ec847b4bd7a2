/// Connects an iterator to the item that feeds it. When it is deallocated, the item leaves the loop.
final class Subscription<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>
    private let ask: @Sendable () -> Void

    /// Of a sequence of messages, the port from which the task takes them.
    private let port: Loop.MessagePort<Element>?

    // Weak: when the loop releases the item, as at its end, the item's handler is released, and the feed with it.
    private weak let item: Loop.Item?
    private let endHandler: Loop.EndHandler?

    /// Subscribes to an item that only the loop retains.
    init(_ item: Loop.Item, feeds buffer: SequenceBuffer<Element>) {
        self.buffer = buffer
        self.item = item
        ask = {}
        port = nil
        endHandler = nil
    }

    /// Adds an item to a loop, and subscribes to it. The item may have other owners that outlive the loop, as may its
    /// handler and feed. So an end handler notifies the subscription of the loop's end.
    ///
    /// - Parameters:
    ///   - port: The item, if it is a port from which the task takes messages.
    ///   - ask: Called when a task begins to wait for an element of an item that is no such port.
    ///   - farewell: Called on the loop's thread when the loop ends. It may put last elements into the buffer.
    init(
        adding item: Loop.Item, to loop: Loop, in mode: Loop.Mode, feeds buffer: SequenceBuffer<Element>,
        takingFrom port: Loop.MessagePort<Element>? = nil, asking ask: @escaping @Sendable () -> Void = {},
        farewell: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = buffer
        self.item = item
        self.port = port
        self.ask = ask
        // Released after its call, when it is refused, and when the loop is deallocated without a call. That finishes
        // the buffer.
        let feed = Feed(buffer)
        endHandler = loop.onEnd { withExtendedLifetime(feed) { farewell() } }
        if !loop.insert(item, in: mode) { item.invalidate() }
    }

    deinit { leave() }

    nonisolated(nonsending) func next() async -> Element? {
        guard !Task.isCancelled else { return leave() }
        while !buffer.isReady {
            Lock.assertNoneHeld()  // A handler may put the element in at once.
            // Not bound to a variable: the port has weak references, and a retain of it would take 170 instructions.
            if port == nil {
                ask()
            } else if let message = port!.takeFirstOrArm() {
                return message
            }
            await buffer.wait()
        }
        return buffer.takeFirst() ?? leave()
    }

    @discardableResult
    private func leave() -> Element? {
        item?.retire()
        endHandler?.cancel()
        return nil
    }
}

/// What a handler holds to feed a buffer. It finishes the buffer when the handler is released.
final class Feed<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>

    init(_ buffer: SequenceBuffer<Element>) { self.buffer = buffer }

    deinit { buffer.finish() }

    func put(_ element: Element) { buffer.put(element) }
}
