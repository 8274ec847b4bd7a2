internal import CLinux

typealias CMutex = pthread_mutex_t
typealias CCondition = pthread_cond_t

extension System {
    static func initialize(_ mutex: UnsafeMutablePointer<CMutex>) {
        mutex.initialize(to: CMutex())
        pthread_mutex_init(mutex, nil)
    }

    static func destroy(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_destroy(mutex) }

    @inline(__always)
    static func lock(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_lock(mutex) }

    static func tryLock(_ mutex: UnsafeMutablePointer<CMutex>) -> Bool { pthread_mutex_trylock(mutex) == 0 }

    @inline(__always)
    static func unlock(_ mutex: UnsafeMutablePointer<CMutex>) { pthread_mutex_unlock(mutex) }

    static func initialize(_ condition: UnsafeMutablePointer<CCondition>) {
        condition.initialize(to: CCondition())
        pthread_cond_init(condition, nil)
    }

    static func destroy(_ condition: UnsafeMutablePointer<CCondition>) { pthread_cond_destroy(condition) }

    static func wait(_ condition: UnsafeMutablePointer<CCondition>, _ mutex: UnsafeMutablePointer<CMutex>) {
        // A thread cancelled here would end with the mutex locked.
        let state = clinux_begin_uncancellable()
        pthread_cond_wait(condition, mutex)
        clinux_end_uncancellable(state)
    }

    static func broadcast(_ condition: UnsafeMutablePointer<CCondition>) { pthread_cond_broadcast(condition) }
}
