/// The port that keeps a ``LoopThread`` alive. Its eventfd is that of its loop: nobody sends to it, so the only sends
/// are the loop's wake-ups. An eventfd of its own took 3 µs of each start and end of a thread.
final class KeepAlivePort: Loop.Item, Source1, @unchecked Sendable {
    init() { super.init(Place(#fileID, #line)) }

    // MARK: Source1

    var watches: [Watch] { [] }
    var isKnownToKernelAlone: Bool { false }
    var knowsTurn: Bool { true }
    var readyTurn: UInt64? { 0 }
    func workBehind(_ report: Report) -> PollEvents? { nil }
    func perform(_ report: Report, in mode: ModeState) -> Int { 0 }

    // MARK: Item

    override var kind: String { "port source" }
    override var status: ItemStatus { .waits("keeps the thread alive") }
    override func insert(into mode: ModeState) { mode.insert(self) }
    override func remove(from mode: ModeState) { mode.remove(self) }
}
