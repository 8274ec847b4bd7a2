/// Threads as the kernel and the C library know them, without a loop.
enum KernelThread {
    /// The calling thread's number in the kernel; 0 where there is no `/proc`.
    ///
    /// Linux has a system call for it that Swift does not import, `gettid`. `/proc/thread-self`, a link to
    /// `<process>/task/<thread>`, gives the same number in a few microseconds.
    static var current: Int {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let name = buffer.bindMemory(to: CChar.self)
            let count = max(0, readlink("/proc/thread-self", name.baseAddress!, name.count))
            let target = String(decoding: buffer[..<count], as: UTF8.self)
            return target.split(separator: "/").last.flatMap { Int($0) } ?? 0
        }
    }

    /// Starts a thread for `body`, and waits until the thread has ended.
    static func run(_ body: @escaping @Sendable () -> Void) throws {
        let box = Unmanaged.passRetained(Body(call: body))
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t! = nil
        #endif
        let code = pthread_create(&thread, nil, { KernelThread.main($0) }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw NotStarted(code: code)
        }
        pthread_join(thread, nil)
    }

    /// The kernel refused to make another thread.
    struct NotStarted: Error, CustomStringConvertible {
        let code: Int32

        var description: String { "cannot start a thread: \(String(cString: strerror(code)))" }
    }

    private final class Body: Sendable {
        let call: @Sendable () -> Void
        init(call: @escaping @Sendable () -> Void) { self.call = call }
    }

    private static func main(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let box else { return nil }
        Unmanaged<Body>.fromOpaque(box).takeRetainedValue().call()
        return nil
    }
}
