/// An iterator's hold on what feeds it: when it goes, the item leaves the loop.
final class Subscription<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>
    private let ask: @Sendable () -> Void

    // Weak: when the loop lets go of the item, at its end for instance, the item's handler goes, and with it the feed.
    private weak let item: Loop.Item?
    private let endHandler: Loop.EndHandler?

    /// A subscription to an item that the loop alone keeps.
    init(_ item: Loop.Item, feeds buffer: SequenceBuffer<Element>) {
        self.buffer = buffer
        self.item = item
        ask = {}
        endHandler = nil
    }

    /// Adds an item to a loop, and subscribes to it. Others may keep the item, and it its handler and feed, when the loop
    /// ends: so the loop tells of its end itself.
    ///
    /// - Parameters:
    ///   - ask: Called when a task begins to wait for an element.
    ///   - farewell: Called on the loop's thread when the loop ends: the last chance to put something into the buffer.
    init(
        adding item: Loop.Item, to loop: Loop, in mode: Loop.Mode, feeds buffer: SequenceBuffer<Element>,
        asking ask: @escaping @Sendable () -> Void = {}, farewell: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = buffer
        self.item = item
        self.ask = ask
        // Released after its call, when it is refused, and when the loop goes without ending: that finishes the buffer.
        let feed = Feed(buffer)
        endHandler = loop.onEnd { withExtendedLifetime(feed) { farewell() } }
        if !loop.add(item, in: mode) { item.invalidate() }
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

/// What a handler holds that feeds an buffer: when the handler goes, the buffer is finished.
final class Feed<Element: Sendable>: Sendable {
    private let buffer: SequenceBuffer<Element>

    init(_ buffer: SequenceBuffer<Element>) { self.buffer = buffer }

    deinit { buffer.finish() }

    func put(_ element: Element) { buffer.put(element) }
}
