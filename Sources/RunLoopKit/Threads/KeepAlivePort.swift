/// The port that keeps the runs of a `LoopThread` going. The eventfd behind it is the one that wakes the loop: nobody
/// sends to the port, so it needs none of its own.
final class KeepAlivePort: Loop.Item, Source1, @unchecked Sendable {
    var watches: [Watch] { [] }
    var isKnownToKernelAlone: Bool { false }
    func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? { nil }
    var readyTurn: UInt64? { 0 }
    func perform(_ events: PollEvents, in mode: ModeState) -> Int { 0 }

    override var kind: String { "port source" }
    override var status: ItemStatus { .waits("keeps the thread alive") }
    override func insert(into mode: ModeState) { mode.insert(self) }
    override func remove(from mode: ModeState) { mode.remove(self) }
}
