/// A system call that failed: which one, why, and the way out where there is one.
///
/// Thrown wherever the caller can react, for instance by closing descriptors or by raising a limit. Where there is no
/// caller to throw to, as in a run or in ``Loop/add(_:in:)``, its text is that of a trap:
/// <doc:Costs#When-the-kernel-refuses> lists both.
///
/// ```swift
/// do {
///     let port = try Loop.PortSource { _ in print("woken") }
/// } catch {
///     print(error)  // eventfd: Too many open files (EMFILE)
/// }
/// ```
///
/// To react to one error, write `do throws(LoopError) { … }`, and in its `catch` for example
/// `guard error.errno == EPERM else { throw error }`. In a closure the compiler takes the error of a plain `do` for
/// `any Error`; and with `catch where`, that of Swift 6.3 may crash.
public struct LoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call that failed, such as `epoll_create1`, with its argument where that was the reason.
    public let call: String

    /// The error number, such as `EMFILE`; see `errno(3)`.
    public let errno: Int32

    /// What to do about it, where the error's text does not say that.
    public let advice: String?

    /// The call, the error's text and its symbolic name, and the advice: `epoll_create1: Too many open files (EMFILE)`,
    /// `setpriority(-5): Permission denied (EACCES); it takes CAP_SYS_NICE or RLIMIT_NICE`.
    public var description: String {
        "\(call): \(System.describe(errno: errno))" + (advice.map { "; \($0)" } ?? "")
    }

    /// Makes the error of a call that the program has made itself, such as one of its own source: with the text, the
    /// symbolic name and the advice of the library's errors.
    ///
    /// - Parameters:
    ///   - call: What failed, for people to read.
    ///   - errno: The error number: the C library's `errno`, read right after the call.
    ///   - advice: What to do about it; nil if the error's text says enough.
    public init(call: String, errno: Int32, advice: String? = nil) {
        self.init(call: call, code: errno, advice: advice)
    }

    init(call: String, code: Int32 = System.lastError, advice: String? = nil) {
        self.call = call
        self.errno = code
        self.advice = advice
    }
}
