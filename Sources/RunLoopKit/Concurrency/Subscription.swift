/// Connects an iterator to the item that feeds it. When it is deallocated, the item leaves the loop.
final class Subscription<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>
    private let ask: @Sendable () -> Void

    // Weak: when the loop releases the item, as at its end, the item's handler is released, and the feed with it.
    private weak let item: Loop.Item?
    private let endHandler: Loop.EndHandler?

    /// Subscribes to an item that only the loop retains.
    init(_ item: Loop.Item, feeds buffer: SequenceBuffer<Element>) {
        self.buffer = buffer
        self.item = item
        ask = {}
        endHandler = nil
    }

    /// Adds an item to a loop, and subscribes to it. The item, and so its handler and feed, may have other owners that
    /// outlive the loop: so an end handler notifies the subscription of the loop's end.
    ///
    /// - Parameters:
    ///   - ask: Called when a task begins to wait for an element.
    ///   - farewell: Called on the loop's thread when the loop ends. It may put last elements into the buffer.
    init(
        adding item: Loop.Item, to loop: Loop, in mode: Loop.Mode, feeds buffer: SequenceBuffer<Element>,
        asking ask: @escaping @Sendable () -> Void = {}, farewell: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = buffer
        self.item = item
        self.ask = ask
        // Released after its call, if it is refused, and if the loop is deallocated without a call. That finishes the
        // buffer.
        let feed = Feed(buffer)
        endHandler = loop.onEnd { withExtendedLifetime(feed) { farewell() } }
        if !loop.insert(item, in: mode) { item.invalidate() }
    }

    deinit { leave() }

    nonisolated(nonsending) func next() async -> Element? {
        let element = await buffer.next(asking: ask)
        if element == nil { leave() }
        return element
    }

    private func leave() {
        item?.invalidate()
        endHandler?.cancel()
    }
}

/// What a handler holds to feed a buffer. It finishes the buffer when the handler is released.
final class Feed<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>

    init(_ buffer: SequenceBuffer<Element>) { self.buffer = buffer }

    deinit { buffer.finish() }

    func put(_ element: Element) { buffer.put(element) }
}
