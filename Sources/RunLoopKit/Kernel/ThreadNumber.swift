internal import CLinux
import Synchronization

extension System {
    /// A number of the calling thread, never 0, and of no other thread of the process. Also in a Unix signal handler:
    /// takes no lock, makes no system call. Never inlined: every file that inlined it would have numbers of its own.
    ///
    /// A signal handler that interrupts the thread's first call may see another number than the thread does later.
    package static var threadNumber: UInt32 {
        @inline(never) get {
            let number = clinux_thread_number()!
            if number.pointee == 0 { number.pointee = lastThreadNumber.add(1, ordering: .relaxed).newValue }
            return number.pointee
        }
    }

    /// Relaxed: the only requirement is that numbers differ.
    private static let lastThreadNumber = Atomic<UInt32>(0)

    /// The calling thread's id of the kernel, and the 16 bytes of its name as two words. Also in a Unix signal handler.
    package static var threadIdentity: (id: Int32, name: (UInt64, UInt64)) {
        var name: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &name) {
            clinux_get_thread_name($0.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        return (clinux_thread_id(), name)
    }

    /// The calling thread's name.
    static var threadName: String { threadName(threadIdentity.name) }

    /// A name from the two words that hold its bytes.
    package static func threadName(_ words: (UInt64, UInt64)) -> String {
        withUnsafeBytes(of: words) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
