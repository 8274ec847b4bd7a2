import CLinux
import RunLoopKit

/// A loop that contains many items, none of which is due or ready: it should sleep without any system call.
/// `scripts/idle-second` observes the process from outside.
enum IdleLoop {
    /// - Parameter write: Writes a line, at once. The loop sleeps between the line `idle` and the line `over`.
    static func run(_ write: @escaping @Sendable (_ line: String) -> Void) {
        PlainThread {
            let loop = Loop.current
            for number in 0..<10_000 { loop.add(Loop.Timer(after: .seconds(3_600 + number)) { _ in }) }
            // 1,000 sources of four kinds: a process may have 1,024 descriptors by default.
            for _ in 0..<250 {
                loop.add(Loop.Source0 {})
                loop.add(Loop.MessagePort<Int> { _ in })
                loop.add(try! Loop.PortSource { _ in })
                let event = check("eventfd", eventfd(0, Int32(EFD_CLOEXEC)))
                loop.add(try! Loop.FileDescriptorSource(event) { _, _ in })
            }
            // The first pass prepares the mode.
            loop.run(for: .zero)
            write("idle\n")
            loop.run(for: .seconds(2))
            write("over\n")
        }.join()
    }
}
