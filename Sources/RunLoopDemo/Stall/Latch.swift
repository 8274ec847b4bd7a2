/// What a thread waits for until another one opens it. Once open, it stays open. From any thread.
final class Latch: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    @inline(never)
    func wait() {
        while sem_wait(semaphore) != 0, errno == EINTR {}
        // For the next one that waits.
        sem_post(semaphore)
    }
}
