/// The port that keeps a ``LoopThread`` alive.
///
/// No thread sends to this port, so it needs no eventfd: that saves 3 µs when a thread starts and ends.
final class KeepAlivePort: Loop.Item, Source1, @unchecked Sendable {
    init() { super.init(Place(#fileID, #line)) }

    // MARK: Source1

    var watches: [Watch] { [] }
    var isPort: Bool { true }
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
