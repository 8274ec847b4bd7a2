import CLinux
import Foundation
import Synchronization

/// CLOCK_MONOTONIC in nanoseconds.
func monotonicNow() -> Int64 { now(CLOCK_MONOTONIC) }

/// The calling thread's CPU time in nanoseconds.
func threadCPUNow() -> Int64 { now(CLOCK_THREAD_CPUTIME_ID) }

@inline(__always)
private func now(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// The result of a call that returns -1 on failure. A benchmark ends on failure.
@discardableResult
func check<Result: SignedInteger>(_ call: String, _ result: Result) -> Result {
    guard result >= 0 else { fatalError("\(call): \(String(cString: strerror(errno)))") }
    return result
}

/// A thread without a loop. (Unchecked: its handle is a number or a pointer, by platform.)
struct PlainThread: @unchecked Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let handle: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t! = nil
        #endif
        let code = pthread_create(&thread, nil, { PlainThread.run($0) }, Unmanaged.passRetained(Body(body)).toOpaque())
        check("pthread_create", -code)
        handle = thread
    }

    func join() { pthread_join(handle, nil) }

    private static func run(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        Unmanaged<Body>.fromOpaque(body!).takeRetainedValue().run()
        return nil
    }
}

/// A place where one thread waits for another. Signals do not accumulate: the waiting thread consumes each before the
/// next one is sent.
protocol Signal: AnyObject, Sendable {
    init()
    func send()
    func wait()
}

/// An eventfd in an epoll set, edge-triggered and never read: two system calls from the signal to the waiting thread.
/// There is no cheaper way to wake a thread that waits for descriptors.
final class EdgeSignal: Signal {
    private let event = check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    private let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))

    init() { watch(event, by: poll, CLINUX_EPOLLIN | CLINUX_EPOLLET) }

    deinit {
        close(poll)
        close(event)
    }

    func send() { add(to: event) }
    func wait() { waitForOne(poll) }
}

/// The same as most programs do it: level-triggered, so that the thread has to read the eventfd each time.
final class LevelSignal: Signal {
    private let event = check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    private let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))

    init() { watch(event, by: poll, CLINUX_EPOLLIN) }

    deinit {
        close(poll)
        close(event)
    }

    func send() { add(to: event) }

    func wait() {
        waitForOne(poll)
        var count: UInt64 = 0
        check("read", read(event, &count, 8))
    }
}

/// A mutex and a condition variable: threads that wait for nothing except each other.
final class ConditionSignal: Signal, @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isSent = false

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func send() {
        pthread_mutex_lock(mutex)
        isSent = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while !isSent { pthread_cond_wait(condition, mutex) }
        isSent = false
        pthread_mutex_unlock(mutex)
    }
}

/// A semaphore, which is one word that a thread waits for with futex. It can wait for nothing else.
final class WordSignal: Signal, @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        semaphore.initialize(to: sem_t())
        check("sem_init", sem_init(semaphore, 0, 0))
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func send() { check("sem_post", sem_post(semaphore)) }
    func wait() { while sem_wait(semaphore) != 0 { precondition(errno == EINTR) } }
}

/// A word that a thread looks at until it changes: it never sleeps.
final class SpunWord: Signal {
    private let isSent = Atomic<Bool>(false)

    // Release and acquire: what came before the signal is visible after the wait.
    func send() { isSent.store(true, ordering: .releasing) }
    func wait() { while !isSent.exchange(false, ordering: .acquiring) { clinux_relax() } }
}

/// The CPUs on which the calling thread may run.
func allowedCPUs() -> [Int] {
    var masks = [UInt](repeating: 0, count: 16)
    check("sched_getaffinity", clinux_get_affinity(0, &masks, UInt(masks.count * MemoryLayout<UInt>.size)))
    return (0..<masks.count * UInt.bitWidth).filter { masks[$0 / UInt.bitWidth] >> UInt($0 % UInt.bitWidth) & 1 != 0 }
}

/// Keeps the calling thread on one CPU.
func pin(to cpu: Int) {
    var masks = [UInt](repeating: 0, count: 16)
    masks[cpu / UInt.bitWidth] = 1 << UInt(cpu % UInt.bitWidth)
    check("sched_setaffinity", clinux_set_affinity(&masks, UInt(masks.count * MemoryLayout<UInt>.size)))
}

/// Puts a descriptor into an epoll set.
func watch(_ descriptor: Int32, by poll: Int32, _ events: UInt32) {
    var event = epoll_event()
    event.events = events
    check("epoll_ctl", epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event))
}

private func add(to eventFD: Int32) {
    var one: UInt64 = 1
    check("write", write(eventFD, &one, 8))
}

/// Returns when a descriptor in an epoll set is ready.
func waitForOne(_ poll: Int32) {
    var event = epoll_event()
    while epoll_wait(poll, &event, 1, -1) < 1 { precondition(errno == EINTR) }
}

/// Arms a timerfd for an absolute time in nanoseconds.
func arm(_ timer: Int32, at time: Int64, every interval: Int64 = 0) {
    var setting = itimerspec(it_interval: timespec(nanoseconds: interval), it_value: timespec(nanoseconds: time))
    check("timerfd_settime", timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil))
}

extension timespec {
    fileprivate init(nanoseconds: Int64) {
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

/// A thread that repeatedly waits for a signal, does something, and signals back, until it is deallocated.
final class Responder<Channel: Signal> {
    private final class State: @unchecked Sendable {
        let request = Channel()
        let response = Channel()
        var isOver = false
    }

    private let state = State()
    private let thread: PlainThread

    /// - Parameters:
    ///   - job: What the thread does at each signal. First, so that a trailing closure is the job.
    ///   - begin: What it does before.
    init(_ job: @escaping @Sendable () -> Void = {}, begin: @escaping @Sendable () -> Void = {}) {
        thread = PlainThread { [state] in
            begin()
            while true {
                state.request.wait()
                if state.isOver { return }
                job()
                state.response.send()
            }
        }
    }

    deinit {
        state.isOver = true
        state.request.send()
        thread.join()
    }

    /// Returns when the thread has answered.
    func ask() {
        begin()
        finish()
    }

    /// Lets the thread begin, without waiting for its answer.
    func begin() { state.request.send() }

    /// Returns when the thread has answered.
    func finish() { state.response.wait() }
}
