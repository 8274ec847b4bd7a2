// Lets a program believe that its machine is slow, by LD_PRELOAD: see scripts/slow-machine.
//
// The clocks run FACTOR times as fast, and each wait with a limit ends when its time has come on them. So nothing takes
// longer than otherwise, but all that the program does takes FACTOR times as long by its own clocks.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef struct timespec Time;

/// The functions that are replaced here.
#define FUNCTIONS(each) \
    each(clock_gettime) each(clock_nanosleep) each(nanosleep) each(pthread_cond_clockwait) \
    each(pthread_cond_timedwait) each(sem_timedwait) each(ppoll) each(poll) each(epoll_wait) each(epoll_pwait) \
    each(timerfd_create) each(timerfd_settime) each(syscall)

// Those of the C library. Looked up once: `dlsym` takes a lock, and hangs in the handler of a signal that has
// interrupted another `dlsym` of its thread as that let go of the lock. All threads would wait for it then.
#define DECLARE(name) static __typeof__(&name) real_##name;
FUNCTIONS(DECLARE)

#define LOOK_UP(name) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

/// The function of the C library. Other constructors may come before the one here.
#define REAL(name) (*(real_##name ? &real_##name : (prepare(), &real_##name)))

static const int64_t second = 1000000000;
static int64_t factor = 1;
/// When the wall clock began to run faster, in nanoseconds. The other clocks are faster from the machine's start on.
static int64_t wallClockBase = 0;

__attribute__((constructor)) static void prepare(void) {
    FUNCTIONS(LOOK_UP)
    factor = atoll(getenv("SLOW_MACHINE_FACTOR") ?: "1");
    wallClockBase = atoll(getenv("SLOW_MACHINE_BASE") ?: "0");
}

// MARK: Times

static int64_t nanoseconds(const Time *time) {
    // Further away than both clocks get.
    return time->tv_sec > 9000000000 ? INT64_MAX : time->tv_sec * second + time->tv_nsec;
}

static Time fromNanoseconds(int64_t nanoseconds) {
    if (nanoseconds < 0) nanoseconds = 0;
    return (Time){nanoseconds / second, nanoseconds % second};
}

static int64_t base(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? wallClockBase : 0;
}

/// A duration of the machine's clocks, from one of the program's. Zero stays zero, and nothing else becomes it.
static Time realDuration(const Time *duration) {
    int64_t known = nanoseconds(duration);
    return known == INT64_MAX || known == 0 ? *duration : fromNanoseconds(known / factor + 1);
}

/// A time of a clock of the machine, from one of the program's.
static Time realTime(clockid_t clock, const Time *time) {
    int64_t known = nanoseconds(time);
    return known == INT64_MAX ? *time : fromNanoseconds(base(clock) + (known - base(clock)) / factor + 1);
}

static int realMilliseconds(int milliseconds) {
    return milliseconds <= 0 ? milliseconds : (int)((milliseconds + factor - 1) / factor);
}

// MARK: Clocks

int clock_gettime(clockid_t clock, Time *time) {
    int failure = REAL(clock_gettime)(clock, time);
    if (!failure) *time = fromNanoseconds(base(clock) + (nanoseconds(time) - base(clock)) * factor);
    return failure;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone) {
    Time time;
    clock_gettime(CLOCK_REALTIME, &time);
    *result = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    Time time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (result) *result = time.tv_sec;
    return time.tv_sec;
}

// MARK: Waits

int clock_nanosleep(clockid_t clock, int flags, const Time *time, Time *rest) {
    Time real = flags & TIMER_ABSTIME ? realTime(clock, time) : realDuration(time);
    return REAL(clock_nanosleep)(clock, flags, &real, rest);
}

int nanosleep(const Time *duration, Time *rest) {
    Time real = realDuration(duration);
    int failure = REAL(nanosleep)(&real, rest);
    if (failure && rest) *rest = fromNanoseconds(nanoseconds(rest) * factor);
    return failure;
}

int usleep(useconds_t duration) {
    Time time = fromNanoseconds(duration * 1000LL);
    return nanosleep(&time, NULL);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const Time *time) {
    Time real = realTime(clock, time);
    return REAL(pthread_cond_clockwait)(condition, mutex, clock, &real);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const Time *time) {
    // The condition knows its clock, and does not tell. The wall clock is decades ahead of the other one.
    clockid_t clock = nanoseconds(time) > wallClockBase / 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    Time real = realTime(clock, time);
    return REAL(pthread_cond_timedwait)(condition, mutex, &real);
}

int sem_timedwait(sem_t *restrict semaphore, const Time *restrict time) {
    Time real = realTime(CLOCK_REALTIME, time);
    return REAL(sem_timedwait)(semaphore, &real);
}

int ppoll(struct pollfd *descriptors, nfds_t count, const Time *limit, const sigset_t *mask) {
    Time real;
    if (limit) real = realDuration(limit);
    return REAL(ppoll)(descriptors, count, limit ? &real : NULL, mask);
}

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
    Time limit = fromNanoseconds(milliseconds * 1000000LL);
    return milliseconds > 0 ? ppoll(descriptors, count, &limit, NULL) : REAL(poll)(descriptors, count, milliseconds);
}

int epoll_wait(int set, struct epoll_event *events, int count, int milliseconds) {
    return REAL(epoll_wait)(set, events, count, realMilliseconds(milliseconds));
}

int epoll_pwait(int set, struct epoll_event *events, int count, int milliseconds, const sigset_t *mask) {
    return REAL(epoll_pwait)(set, events, count, realMilliseconds(milliseconds), mask);
}

/// The clock of each timer.
static clockid_t clocks[65536];

int timerfd_create(clockid_t clock, int flags) {
    int timer = REAL(timerfd_create)(clock, flags);
    if (timer >= 0 && timer < 65536) clocks[timer] = clock;
    return timer;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
    clockid_t clock = timer >= 0 && timer < 65536 ? clocks[timer] : CLOCK_MONOTONIC;
    struct itimerspec real = {realDuration(&new->it_interval), new->it_value};
    if (nanoseconds(&new->it_value) != 0) {
        real.it_value = flags & TFD_TIMER_ABSTIME ? realTime(clock, &new->it_value) : realDuration(&new->it_value);
    }
    return REAL(timerfd_settime)(timer, flags, &real, old);
}

/// For futexes, and for `epoll_pwait2`, which the C library may lack.
long syscall(long number, ...) {
    long (*real)(long, ...) = REAL(syscall);
    va_list list;
    va_start(list, number);
    long a[6];
    for (int index = 0; index < 6; index++) a[index] = va_arg(list, long);
    va_end(list);
    Time time;
    const Time *limit = (const Time *)a[3];
    if (number == SYS_futex && limit && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) {
        time = realDuration(limit);
        a[3] = (long)&time;
    } else if (number == SYS_futex && limit && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
        time = realTime(a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, limit);
        a[3] = (long)&time;
    } else if (number == SYS_epoll_pwait2 && limit) {
        time = realDuration(limit);
        a[3] = (long)&time;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
