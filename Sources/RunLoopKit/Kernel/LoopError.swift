/// A system call that failed: which one, and why.
///
/// Thrown wherever the caller can react, for instance by closing descriptors or by raising a limit:
///
/// ```swift
/// do {
///     let port = try Loop.PortSource { _ in print("woken") }
/// } catch {
///     print(error)  // eventfd: Too many open files (EMFILE)
/// }
/// ```
public struct LoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call that failed, such as `epoll_create1`, with its argument where that was the reason.
    public let call: String

    /// The error number it failed with, such as `EMFILE`; see `errno(3)`.
    public let errno: Int32

    /// The call, the error's text and its symbolic name: `epoll_create1: Too many open files (EMFILE)`.
    public var description: String { "\(call): \(System.describe(errno: errno))" }

    init(call: String, code: Int32 = System.lastError) {
        self.call = call
        self.errno = code
    }
}
