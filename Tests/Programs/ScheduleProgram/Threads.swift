#if DEBUG && !PLAIN_ATOMICS
    import CLinux

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// A semaphore of the C library.
    final class Semaphore: @unchecked Sendable {
        private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init() { sem_init(semaphore, 0, 0) }

        deinit {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }

        func post() { sem_post(semaphore) }

        func wait() { while sem_wait(semaphore) != 0 {} }

        /// Returns false if the time is up.
        func wait(forSeconds seconds: Int) -> Bool {
            var end = timespec()
            clock_gettime(CLOCK_REALTIME, &end)
            end.tv_sec += seconds
            while sem_timedwait(semaphore, &end) != 0 { if errno == ETIMEDOUT { return false } }
            return true
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// One of the process's CPUs, as a mask: another one for each process.
    private nonisolated(unsafe) var oneCPU: [UInt] = {
        var mask = [UInt](repeating: 0, count: 8192 / UInt.bitWidth)
        clinux_get_affinity(0, &mask, UInt(mask.count * MemoryLayout<UInt>.size))
        let all: [Int] = mask.indices.flatMap { word -> [Int] in
            (0..<UInt.bitWidth).filter { mask[word] & (1 << UInt($0)) != 0 }.map { word * UInt.bitWidth + $0 }
        }
        guard !all.isEmpty else { return mask }
        let chosen = all[Int(getpid()) % all.count]
        for word in mask.indices { mask[word] = 0 }
        mask[chosen / UInt.bitWidth] = 1 << UInt(chosen % UInt.bitWidth)
        return mask
    }()

    /// Keeps the calling thread on the CPU of all others that take turns: handing over is cheaper there. The initial
    /// thread may run anywhere, so the library knows that there are several CPUs.
    func onOneCPU() { _ = clinux_set_affinity(&oneCPU, UInt(oneCPU.count * MemoryLayout<UInt>.size)) }

    /// Starts a thread. Returns its pthread_t.
    func startThread(_ body: @escaping @Sendable () -> Void) -> UInt {
        var thread = pthread_t(bitPattern: 0)
        let box = Unmanaged.passRetained(Body(body)).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { box in
                Unmanaged<Body>.fromOpaque(box!).takeRetainedValue().run()
                return nil
            }, box)
        precondition(code == 0, "no thread")
        return withUnsafeBytes(of: thread) { $0.load(as: UInt.self) }
    }

    func joinThread(_ thread: UInt) {
        pthread_join(withUnsafeBytes(of: thread) { $0.load(as: pthread_t.self) }, nil)
    }

    /// The last that a thread does, after the library's own end of the thread.
    enum ThreadEnd {
        private final class Ending {
            let body: () -> Void
            var round = 0
            init(_ body: @escaping () -> Void) { self.body = body }
        }

        /// Made before the library's key: in each round of destructors this one comes first. So in the second round the
        /// library's has been called.
        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            pthread_key_create(&key) { pointer in
                guard let pointer = Optional(pointer) else { return }
                let ending = Unmanaged<Ending>.fromOpaque(pointer!).takeUnretainedValue()
                ending.round += 1
                guard ending.round == 2 else {
                    pthread_setspecific(ThreadEnd.key, pointer)
                    return
                }
                ending.body()
                Unmanaged<Ending>.fromOpaque(pointer!).release()
            }
            return key
        }()

        static func prepare() { _ = key }

        static func whenEnding(_ body: @escaping () -> Void) {
            pthread_setspecific(key, Unmanaged.passRetained(Ending(body)).toOpaque())
        }
    }
#endif
