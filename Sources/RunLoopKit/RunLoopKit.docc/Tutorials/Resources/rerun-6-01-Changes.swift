import RunLoopKit

/// Reports each file once it has come to rest.
final class Changes: Sendable {
    private let debounce: KeyedDebounce<String, Void>

    init(on loop: Loop, report: @escaping @Sendable (_ path: String) -> Void) {
        debounce = KeyedDebounce(interval: .zero, on: loop) { path, _ in report(path) }
    }

    /// How long a file must have rested.
    var rest: Duration {
        get { debounce.interval }
        set { debounce.interval = newValue }
    }

    func note(_ path: String) { debounce(for: path) }

    /// Reports what has not come to rest, too.
    func flush() { debounce.flushAll() }
}
