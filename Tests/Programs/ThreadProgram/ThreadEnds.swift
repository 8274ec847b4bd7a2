// How a thread that the library has not made ends its loop. The program makes a key of its own before the library does,
// may call `exit`, and has threads of Dispatch with nothing to do.
import Dispatch
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

enum ThreadEnds: String, CaseIterable {
    case returns, exits, forks
    case exitsInHandler = "exits-in-handler"
    case isIdle = "idle"

    func play() {
        if self == .isIdle { return playIdleThreads() }
        // Its destructor is called before the library's.
        var key = pthread_key_t()
        precondition(pthread_key_create(&key) { _ in print("a key's value is destroyed") } == 0)
        onThread { [key] in
            pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
            let loop = Loop.current
            loop.add(Loop.Source0(cancel: { _, mode in print("the source leaves \(mode)") }, perform: {}))
            loop.onEnd { print("the loop ends") }
            switch self {
            case .exits: exit(0)
            case .exitsInHandler:
                loop.perform { exit(0) }
                loop.run()
            case .forks:
                let child = forkProcess()
                if child == 0 { exit(0) }
                waitpid(child, nil, 0)
            case .returns, .isIdle: break
            }
        }
    }

    /// Dispatch ends its idle threads after some seconds. Tasks sleep on their loops, and continue by the ends.
    private func playIdleThreads() {
        let answers = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
            Task.detached {
                do {
                    try await Task.sleep(for: .seconds(3600), clock: .loop(currentLoop()))
                } catch {
                    answers.signal()
                }
            }
        }
        for _ in 0..<4 { answers.wait() }
        print("every task continues")
    }
}

private func currentLoop() -> Loop { Loop.current }

/// Swift has no `fork`.
@_silgen_name("fork") private func forkProcess() -> Int32

/// Calls a function on a new thread, and waits for its end.
private func onThread(_ body: @escaping () -> Void) {
    #if canImport(Glibc)
        var thread = pthread_t()
    #else
        var thread: pthread_t? = nil
    #endif
    let box = Unmanaged.passRetained(Body(body)).toOpaque()
    let code = pthread_create(
        &thread, nil,
        { box in
            Unmanaged<Body>.fromOpaque(box!).takeRetainedValue().call()
            return nil
        }, box)
    precondition(code == 0)
    #if canImport(Glibc)
        pthread_join(thread, nil)
    #else
        pthread_join(thread!, nil)
    #endif
}

private final class Body {
    let call: () -> Void
    init(_ call: @escaping () -> Void) { self.call = call }
}
