internal import CLinux
import Synchronization

// Waiting in the kernel until a word changes. The calls are not cancellation points: a cancelled thread continues.

extension System {
    /// Waits until a thread calls `wakeOne` or `wakeAll` with this word. Returns at once if the word is not `value`.
    /// Wake-ups can be spurious, such as by a signal.
    static func wait(at word: borrowing Atomic<UInt32>, while value: UInt32) {
        withUnsafePointer(to: word) { _ = clinux_futex_wait($0, value) }
    }

    /// The same, but only until a time on the monotonic clock. Returns false if the time is up.
    static func wait(at word: borrowing Atomic<UInt32>, while value: UInt32, until deadline: Int64) -> Bool {
        guard monotonicNanoseconds() < deadline else { return false }
        withUnsafePointer(to: word) { _ = clinux_futex_wait_until($0, value, deadline) }
        return true
    }

    /// Wakes one of the threads that wait.
    ///
    /// The word may be gone by now, since a thread that got the lock without a wait may have released its owner. The
    /// kernel only uses its address; a wake-up of a thread that waits for another word at that address is spurious.
    @usableFromInline
    static func wakeOne(at word: borrowing Atomic<UInt32>) {
        withUnsafePointer(to: word) { _ = clinux_futex_wake($0, 1) }
    }

    /// Wakes all threads that wait.
    static func wakeAll(at word: borrowing Atomic<UInt32>) {
        withUnsafePointer(to: word) { _ = clinux_futex_wake($0, .max) }
    }
}
