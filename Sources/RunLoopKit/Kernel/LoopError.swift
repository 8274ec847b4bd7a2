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
/// `guard error.errno == EPERM else { throw error }`: <doc:TerminalsFilesAndSockets#An-input-that-may-be-a-file>. In a
/// closure the compiler takes the error of a plain `do` for `any Error`; and with `catch where`, that of Swift 6.3 may
/// crash.
public struct LoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call that failed, such as `epoll_create1`, with its argument where that was the reason.
    public let call: String

    /// The error number, such as `EMFILE`; see `errno(3)`.
    public let errno: Int32

    /// Whether a limit that the program has set was reached, and no call has failed: the period of
    /// ``Loop/Connection/end(within:readingFirst:)`` or ``Loop/Connection/finishSending(within:)``, or
    /// ``Loop/Connection/idleLimit``. False for an error that the program has made.
    ///
    /// A log tells by it what the program has asked for from a failure of the network, which may have the same
    /// ``errno``. Two errors that differ only in it are equal.
    public let isOwnLimit: Bool

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
        self.init(call, code, isOwnLimit: false, advice)
    }

    /// Makes the error of a limit of time that the program has set.
    ///
    /// - Parameters:
    ///   - limit: The function or the property that has set it.
    ///   - missing: What was not over by then.
    init(ownLimit limit: String, missing: String) {
        self.init(limit, System.timedOut, isOwnLimit: true, missing)
    }

    private init(_ call: String, _ errno: Int32, isOwnLimit: Bool, _ advice: String?) {
        (self.call, self.errno, self.isOwnLimit, self.advice) = (call, errno, isOwnLimit, advice)
    }

    /// Whether the call, the error number and the advice are equal.
    public static func == (left: LoopError, right: LoopError) -> Bool {
        left.call == right.call && left.errno == right.errno && left.advice == right.advice
    }
}
