internal import CLinux
import Synchronization

// What the protocols use of the rest of the library, in as few words as compile.

typealias Descriptor = Int32

package struct LoopError: Error {}

@usableFromInline package enum System {
    static func makeEventFD() throws(LoopError) -> Descriptor { stand_in_make_eventfd() }
    static func signal(eventFD: Descriptor) { stand_in_signal(eventFD) }
    static func close(_ descriptor: Descriptor) { stand_in_close(descriptor) }
    static func monotonicNanoseconds() -> Int64 { stand_in_nanoseconds() }
}

struct ProcessMark {
    static let current = ProcessMark()
    var isCurrent: Bool { true }
}

final class Monitors: Sendable {
    struct Monitor { func wasWoken() {} }
    static let areAttached = false
    var isEmpty: Bool { true }
    func notify(_ body: (Monitor) -> Void) {}
}
