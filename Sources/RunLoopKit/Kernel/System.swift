internal import CLinux

#if !os(Linux) && !os(Android)
    #error("RunLoopKit needs Linux (Glibc, Musl or Android): it is built on epoll, eventfd and timerfd.")
#endif

/// Thin wrappers around system calls and the C library, with a file of this folder for each subject.
///
/// Only this folder imports the C library. It does so through CLinux, which decides what the C library is.
///
/// One call is a cancellation point (`pthread_cancel`): a wait without limit for descriptors, in which a thread holds
/// no lock and owes no other thread anything. In all others a cancelled thread continues.
@usableFromInline
package enum System {
    /// Returns the result of a call that returns -1 on failure, or throws its error.
    @discardableResult
    static func check(_ call: @autoclosure () -> String, _ result: Int32) throws(LoopError) -> Int32 {
        guard result >= 0 else { throw LoopError(call: call()) }
        return result
    }
}
