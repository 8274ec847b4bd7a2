// Plays the library's protocols with threads, futexes and an eventfd. Prints a line for each that holds.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Entries.swift
extern void protocols_begin(void), protocols_end(void);
extern void lock_lock(void), lock_unlock(void);
extern void readers_enter(void), readers_leave(void), readers_wait(void);
extern long list_sum(void);
extern void list_change(long);
extern bool waker_open(void), waker_begin_wait(void), waker_end_wait(void), waker_is_asleep(void);
extern int waker_descriptor(void);
extern void waker_wake(void), waker_nudge(void), waker_close(void);
extern void note_set(void);
extern bool note_take(void);
extern void waiter_begin(void), waiter_fulfil(void), waiter_wait(void);

// What StandIns.swift and CLinux.h promise.
long clinux_futex_wait(const void *word, unsigned int value) {
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}
long clinux_futex_wait_until(const void *word, unsigned int value, long long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &time, 0, FUTEX_BITSET_MATCH_ANY);
}
long clinux_futex_wake(const void *word, int count) {
    return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}
int stand_in_make_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
void stand_in_signal(int descriptor) {
    unsigned long long one = 1;
    if (write(descriptor, &one, sizeof one) != sizeof one) {
        printf("a write to the eventfd fails: %s\n", strerror(errno));
        exit(1);
    }
}
void stand_in_close(int descriptor) { close(descriptor); }
long long stand_in_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}
// Of the runtime's hash seeds.
void arc4random_buf(void *bytes, size_t count) { memset(bytes, 4, count); }

static long rounds = 20000;

static void require(bool holds, const char *text) {
    if (holds) return;
    printf("%s\n", text);
    exit(1);
}

static pthread_t start(void *(*body)(void *)) {
    pthread_t thread;
    require(pthread_create(&thread, 0, body, 0) == 0, "no thread");
    return thread;
}

static void run(const char *name, void *(*body)(void *), int copies, void *(*other)(void *)) {
    pthread_t threads[8];
    protocols_begin();
    for (int index = 0; index < copies; index++) threads[index] = start(body);
    threads[copies] = start(other);
    for (int index = 0; index <= copies; index++) pthread_join(threads[index], 0);
    protocols_end();
    printf("%s\n", name);
    fflush(stdout);
}

// Lock: a plain counter.
static long counter;
static void *count(void *unused) {
    for (long round = 0; round < rounds; round++) {
        lock_lock();
        counter++;
        lock_unlock();
    }
    return 0;
}

// SharedList and Readers: both elements that a thread reads are of one change.
static atomic_bool isOver;
static void *look(void *unused) {
    while (!atomic_load(&isOver)) require(list_sum() == 0, "a list is torn");
    return 0;
}
static void *change(void *unused) {
    for (long round = 1; round <= rounds; round++) list_change(round);
    atomic_store(&isOver, true);
    return 0;
}

// Readers: what the readers read is changed when there is none.
static long guarded;
static void *enter(void *unused) {
    for (long round = 0; round < rounds; round++) {
        readers_enter();
        readers_leave();
    }
    return 0;
}
static void *waitForReaders(void *unused) {
    for (long round = 0; round < rounds / 10; round++) {
        readers_wait();
        guarded++;
    }
    return 0;
}

// Waker: a loop that sleeps until it has the work of two senders.
static atomic_long work;
static const int senders = 2;
static void *send(void *unused) {
    for (long round = 0; round < rounds; round++) {
        atomic_fetch_add_explicit(&work, 1, memory_order_relaxed);
        waker_wake();
    }
    return 0;
}
static void *loop(void *unused) {
    require(waker_open(), "no eventfd");
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    require(epoll_ctl(set, EPOLL_CTL_ADD, waker_descriptor(), &event) == 0, "no epoll set");
    while (true) {
        waker_end_wait();
        if (atomic_load_explicit(&work, memory_order_relaxed) == senders * rounds) break;
        if (!waker_begin_wait()) continue;
        int count = epoll_wait(set, &event, 1, 20000);
        require(count != 0, "a wake-up is lost");
    }
    waker_close();
    close(set);
    return 0;
}

// EdgeNote: a loop that only polls.
static int port;
static atomic_int senderCount;
static void *sendToPort(void *unused) {
    for (long round = 0; round < rounds; round++) {
        stand_in_signal(port);
        note_set();
    }
    atomic_fetch_add(&senderCount, 1);
    return 0;
}
static void *poll(void *unused) {
    unsigned long long received = 0, count;
    while (received < (unsigned long long)(senders * rounds)) {
        bool isLast = atomic_load(&senderCount) == senders;
        if (note_take()) {
            if (read(port, &count, sizeof count) == sizeof count) received += count;
        } else {
            require(!isLast, "a send is missed");
        }
    }
    return 0;
}

// Waiter: an answer, again and again.
static long answer;
static void *fulfil(void *round) {
    answer = (long)round;
    waiter_fulfil();
    return 0;
}

int main(int count_, char **arguments) {
    if (count_ > 1) rounds = atol(arguments[1]);
    run("lock", count, 3, count);
    require(counter == 4 * rounds, "two threads held a lock");
    run("list", look, 2, change);
    run("readers", enter, 2, waitForReaders);
    run("waker", send, senders, loop);
    port = stand_in_make_eventfd();
    run("note", sendToPort, senders, poll);
    for (long round = 0; round < rounds / 20; round++) {
        waiter_begin();
        pthread_t thread;
        require(pthread_create(&thread, 0, fulfil, (void *)round) == 0, "no thread");
        waiter_wait();
        require(answer == round, "an answer is old");
        pthread_join(thread, 0);
    }
    printf("waiter\n");
    return 0;
}
