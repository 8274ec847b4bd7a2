#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A mistake that the law of growth must notice.
enum Leak: String, CaseIterable {
    case memory, descriptor, thread

    func happen() {
        switch self {
        case .memory:
            let size = 1 << 20
            memset(malloc(size), 1, size)
        case .descriptor: precondition(dup(1) > 0)
        case .thread:
            #if canImport(Glibc)
                var thread = pthread_t()
            #else
                var thread: pthread_t! = nil
            #endif
            let code = pthread_create(&thread, nil, { _ in while true { pause() } }, nil)
            precondition(code == 0, "no thread: error \(code)")
        }
    }
}
