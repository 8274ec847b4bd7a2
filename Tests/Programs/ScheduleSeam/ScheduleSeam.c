// Swift's runtime holds a mutex of the C library while it calls the cancellation handlers of a task. Another thread
// that resumes the task waits for that mutex: outside of the library's seam, without giving up its turn. So the mutex's
// functions are replaced, for the threads that take turns, and so is the one that releases an object. A program's own
// functions come before those of its libraries.

#define _GNU_SOURCE
#include "ScheduleSeam.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED
#endif
#endif

#if defined(__GLIBC__) && !defined(IS_SANITIZED)

typedef int (*MutexFunction)(pthread_mutex_t *);

static __thread bool takes_part;
/// How many threads wait. Only the thread that has its turn uses it.
static int waiting;

static void (*wait_for)(void *);
static void (*wake)(void *);
static void (*job_leaves)(void);

static int call_real(const char *name, MutexFunction *real, pthread_mutex_t *mutex) {
    // Threads that are here at the same time find the same.
    if (!*real) *real = (MutexFunction)dlsym(RTLD_NEXT, name);
    return (*real)(mutex);
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static MutexFunction real;
    if (!takes_part) return call_real("pthread_mutex_lock", &real, mutex);
    int result;
    while ((result = pthread_mutex_trylock(mutex)) == EBUSY) {
        waiting++;
        takes_part = false;
        wait_for(mutex);
        takes_part = true;
        waiting--;
    }
    return result;
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static MutexFunction real;
    int result = call_real("pthread_mutex_unlock", &real, mutex);
    if (takes_part && waiting > 0) {
        takes_part = false;
        wake(mutex);
        takes_part = true;
    }
    return result;
}

#define SWIFTCALL __attribute__((swiftcall))

typedef SWIFTCALL void (*Enqueue)(void *job);
extern SWIFTCALL void (*swift_task_enqueueGlobal_hook)(void *job, Enqueue original);

static SWIFTCALL void enqueue_global(void *job, Enqueue original) {
    if (takes_part) job_leaves();
    original(job);
}

extern size_t swift_retainCount(void *object);

static void (*release_comes)(const void *object);

__attribute__((visibility("default"))) void swift_release(void *object) {
    static void (*real)(void *);
    if (!real) real = (void (*)(void *))dlsym(RTLD_NEXT, "swift_release");
    // If it is the last reference, no other thread can make it so.
    if (release_comes && takes_part && (intptr_t)object > 0 && swift_retainCount(object) > 1) {
        takes_part = false;
        release_comes(object);
        takes_part = true;
    }
    real(object);
}

void schedule_seam_set_release(void (*comes)(const void *)) { release_comes = comes; }

bool schedule_seam_is_there(void) { return true; }

void schedule_seam_set(void (*wait)(void *), void (*wake_all)(void *), void (*leaves)(void)) {
    wait_for = wait;
    wake = wake_all;
    job_leaves = leaves;
    swift_task_enqueueGlobal_hook = enqueue_global;
}

bool schedule_seam_take_part(bool value) {
    bool did = takes_part;
    takes_part = value;
    return did;
}

#else

bool schedule_seam_is_there(void) { return false; }
void schedule_seam_set(void (*wait)(void *), void (*wake)(void *), void (*leaves)(void)) {}
void schedule_seam_set_release(void (*comes)(const void *)) {}
bool schedule_seam_take_part(bool takes_part) { return false; }

#endif
