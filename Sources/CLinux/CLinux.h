// What the C library's Swift module lacks: the Linux descriptors that a run loop is made of.
//
// No feature macro is defined here: _GNU_SOURCE would change types that the C library's own Swift
// module has already seen. What hides behind it is declared by hand instead.
#ifndef CLINUX_H
#define CLINUX_H

#ifndef __linux__
#error "RunLoopKit needs Linux (Glibc, Musl or Android): it is built on epoll, eventfd and timerfd."
#endif

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// GNU extensions, hidden without _GNU_SOURCE.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);

// Of Swift's runtime: retains an object, unless its deinit has begun; then returns NULL.
extern void *swift_tryRetain(void *object);

// A macro, which Swift does not import.
static inline int clinux_errno(void) { return errno; }
static inline void clinux_set_errno(int number) { errno = number; }

// Calls that the C library makes a cancellation point, made straight to the kernel: a cancelled thread
// (pthread_cancel) continues in them, and ends where it holds no lock and owes no write. -1 and errno on failure.
static inline long clinux_read(int descriptor, void *buffer, unsigned long count) {
    return syscall(SYS_read, descriptor, buffer, count);
}

static inline long clinux_write(int descriptor, const void *buffer, unsigned long count) {
    return syscall(SYS_write, descriptor, buffer, count);
}

// The time of a clock in nanoseconds. Not in Swift, whose compiler protects the stack of a function that has a timespec:
// half of the instructions.
static inline long long clinux_nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Writes a text, or digits, at the end of another one. Async-signal-safe. Returns the new end.
static inline char *clinux_append_text(char *end, const char *text) { return stpcpy(end, text); }

static inline char *clinux_append_number(char *end, unsigned number) {
    if (number >= 10) end = clinux_append_number(end, number / 10);
    *end = (char)('0' + number % 10);
    return end + 1;
}

// Ends the process after a call on a descriptor of the library's has failed as it only can if the program has closed
// it, or put another file in its place. A pipe has two; otherwise the second is -1. Async-signal-safe: a signal handler
// may make the call.
_Noreturn static inline void clinux_descriptor_failed(
    const char *call, const char *kind, int first, int second, long result) {
    int number = errno;
    char text[256], *end = clinux_append_text(text, "RunLoopKit: ");
    end = clinux_append_text(clinux_append_text(end, call), "(");
    end = clinux_append_text(clinux_append_text(end, kind), first < 0 ? " -" : " ");
    end = clinux_append_number(end, first < 0 ? -(unsigned)first : (unsigned)first);
    if (second >= 0) end = clinux_append_number(clinux_append_text(end, ", "), (unsigned)second);
    if (result >= 0) {
        end = clinux_append_text(end, "): only part of a number");
    } else if (number == EBADF) {
        end = clinux_append_text(end, "): Bad file descriptor (EBADF)");
    } else {
        end = clinux_append_number(clinux_append_text(end, "): errno "), (unsigned)number);
    }
    end = clinux_append_text(
        end, "; the program has closed a descriptor of a loop: close only those that it has opened\n");
    clinux_write(2, text, (unsigned long)(end - text));
    __builtin_trap();
}

static inline int clinux_close(int descriptor) { return (int)syscall(SYS_close, descriptor); }

static inline int clinux_open_for_reading(const char *path) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

// Inotify. Its flags are an enumeration in one C library, and macros in the others.
static inline int clinux_inotify_make(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

static inline int clinux_inotify_add(int inotify, const char *path, unsigned mask) {
    return inotify_add_watch(inotify, path, mask);
}

// Swift imports the name as a tuple.
static inline const char *_Nonnull clinux_entry_name(const struct dirent *entry) { return entry->d_name; }

// Some file systems do not say it with the name.
static inline bool clinux_entry_is_folder(DIR *folder, const struct dirent *entry) {
    struct stat status;
    if (entry->d_type != DT_UNKNOWN) { return entry->d_type == DT_DIR; }
    return fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

// The caller frees it.
static inline char *clinux_resolved_path(const char *path) { return realpath(path, 0); }

// Looks without waiting.
static inline int clinux_poll(struct pollfd *requests, unsigned long count) {
    struct timespec none = {0, 0};
    return (int)syscall(SYS_ppoll, requests, count, &none, 0, 0);
}

static inline int clinux_epoll_poll(int epoll, struct epoll_event *events, int count) {
#ifdef SYS_epoll_wait
    return (int)syscall(SYS_epoll_wait, epoll, events, count, 0);
#else
    // Newer architectures have only this, which takes the kernel about 30 ns longer.
    return (int)syscall(SYS_epoll_pwait, epoll, events, count, 0, 0, 0);
#endif
}

// False also for a descriptor that is not open.
static inline bool clinux_is_socket_or_pipe(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !(S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode))) return false;
    // O_PATH, which Glibc declares for GNU sources only: such a descriptor only names the file.
    const int only_names = 010000000;
    return (fcntl(descriptor, F_GETFL) & only_names) == 0;
}

// For a thread that repeatedly reads a word: its CPU uses less power, and leaves more to a sibling.
static inline void clinux_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

// Waits while a word has a value, and wakes the threads that wait. The word is private to the process.
static inline long clinux_futex_wait(const void *word, unsigned int value) {
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

// Until a time on CLOCK_MONOTONIC. The system call takes two longs, also where the C library's timespec is larger.
static inline long clinux_futex_wait_until(const void *word, unsigned int value, long long nanoseconds) {
    long long seconds = nanoseconds / 1000000000;
    struct { long seconds, nanoseconds; } time = {
        seconds > LONG_MAX ? LONG_MAX : (long)seconds, (long)(nanoseconds % 1000000000)};
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &time, 0, FUTEX_BITSET_MATCH_ANY);
}

static inline long clinux_futex_wake(const void *word, int count) {
    return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

// Keeps calls of the C library that leave something undone, such as pthread_join, from being cancelled. The first
// returns what the second is to be given. Bionic has no cancellation.
static inline int clinux_begin_uncancellable(void) {
    int state = 0;
#ifdef PTHREAD_CANCEL_DISABLE
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
#endif
    return state;
}

static inline void clinux_end_uncancellable(int state) {
#ifdef PTHREAD_CANCEL_DISABLE
    pthread_setcancelstate(state, &state);
#endif
}

// A variable or function of which each linked image has one. Swift compiles this header into each object whose code calls
// a function of it, and with whole-module optimization this is code of other files, too, into which the optimizer has
// inlined the call: a `static` variable is another one there, and a function has another address.
#define CLINUX_ONE __attribute__((weak, visibility("hidden")))

// Whether the calling thread is in the last steps of its end. Not a thread-specific value of pthread's: the C library
// clears those before it calls the destructors of others. Every file that calls this has a variable of its own, so only
// one file does.
static inline int *clinux_thread_mark(void) {
    static _Thread_local int mark;
    return &mark;
}

// Whether the calling thread, which forks, is the process's initial one. Called by one file only, as above.
static inline int *clinux_forks_on_initial_thread(void) {
    static _Thread_local int isInitial;
    return &isInitial;
}

// A pointer of the calling thread, initially null, which costs less to read than a value of pthread's. Called by one
// file only, as above.
static inline void **clinux_thread_state(void) {
    static _Thread_local void *state;
    return &state;
}

// A word of the calling thread: the ranks of the locks that it holds, in debug builds. Called by one file only, as
// above.
static inline unsigned long *clinux_held_lock_ranks(void) {
    static _Thread_local unsigned long ranks;
    return &ranks;
}

// A pointer of the calling thread, initially null: the plan of faults for tests, in debug builds. Called by one file
// only, as above. Initial-exec: a signal handler may be the first to read it.
static inline void **clinux_thread_faults(void) {
    static _Thread_local void *faults __attribute__((tls_model("initial-exec")));
    return &faults;
}

// The same for the thread's part in a schedule of a test.
static inline void **clinux_thread_schedule_seat(void) {
    static _Thread_local void *seat __attribute__((tls_model("initial-exec")));
    return &seat;
}

// A number of the calling thread, initially 0. Called by one file only, as above. Initial-exec: the first access in a
// signal handler allocates nothing.
static inline unsigned int *clinux_thread_number(void) {
    static _Thread_local unsigned int number __attribute__((tls_model("initial-exec")));
    return &number;
}

// The calling thread's name, at most 15 bytes and a null. Allowed in signal handlers.
static inline void clinux_get_thread_name(char name[16]) { prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0); }

// As dup3, closed on exec: headers declare that with _GNU_SOURCE only.
static inline int clinux_dup3(int from, int to) { return (int)syscall(SYS_dup3, from, to, O_CLOEXEC); }

// How much waits in a descriptor: to be read, and to be sent. -1 where the kernel has no such number.
static inline int clinux_unread(int descriptor) {
    int count = 0;
    return syscall(SYS_ioctl, descriptor, FIONREAD, &count) == 0 ? count : -1;
}

static inline int clinux_unsent(int descriptor) {
    int count = 0;
    return syscall(SYS_ioctl, descriptor, TIOCOUTQ, &count) == 0 ? count : -1;
}

// Whether these two numbers are all that waits there: of a terminal, a socket that does not listen, or the reading end
// of a pipe. (At the writing end nothing tells that a fast reader takes all that is written.)
static inline bool clinux_counts_bytes(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return false;
    if (S_ISCHR(status.st_mode)) return isatty(descriptor);
    if (S_ISFIFO(status.st_mode)) return (fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_WRONLY;
    int listens = 1;
    socklen_t size = sizeof listens;
    return S_ISSOCK(status.st_mode)
        && getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && !listens;
}

// Whether reading may leave these two numbers as they are: datagrams, since only the next one is counted; and a pipe
// that is half full, which its writer may keep full, unless it has hung up.
static inline bool clinux_may_hide_reads(int descriptor, bool has_hung_up) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return true;
    // F_GETPIPE_SZ, which Glibc declares for GNU sources only.
    if (S_ISFIFO(status.st_mode)) return !has_hung_up && clinux_unread(descriptor) >= fcntl(descriptor, 1032) / 2;
    int type = 0;
    socklen_t size = sizeof type;
    return S_ISSOCK(status.st_mode)
        && (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM);
}

// The calling thread's kernel id; equal to getpid() on the initial thread only.
static inline int clinux_thread_id(void) { return (int)syscall(SYS_gettid); }

// What the kernel knows about a thread. These concern the calling thread alone and are made straight to the kernel: the
// C libraries apply them to processes, hide them, or, like Musl with the scheduler, refuse. -1 and errno on failure.
static inline int clinux_set_nice(int value) { return (int)syscall(SYS_setpriority, 0 /* PRIO_PROCESS */, 0, value); }

static inline int clinux_set_scheduling(int policy, int priority) {
    struct { int priority; } parameters = {priority};
    return (int)syscall(SYS_sched_setscheduler, 0, policy, &parameters);
}

// A bit for each CPU. The getter returns how many bytes of the mask it has written.
static inline int clinux_set_affinity(const unsigned long *mask, unsigned long bytes) {
    return (int)syscall(SYS_sched_setaffinity, 0, bytes, mask);
}

// Of a thread; zero stands for the calling one.
static inline int clinux_get_affinity(int thread, unsigned long *mask, unsigned long bytes) {
    return (int)syscall(SYS_sched_getaffinity, thread, bytes, mask);
}

// The handler is called for each signal; system calls that it interrupts are restarted.
static inline int clinux_handle_signal(int signal, void (*handler)(int)) {
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    return sigaction(signal, &action, 0);
}

static inline int clinux_set_timer_slack(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}

// Here because the type of the first argument is an enumeration in one C library and a number in others.
static inline unsigned long long clinux_pending_signal_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_SIGPENDING, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// A thread, by value: what a pthread_t is (an integer in Glibc and Bionic, a pointer in Musl), and so what an empty one
// would be, is not for Swift to know. The number is pthread_create's error.
typedef struct { pthread_t thread; int error; } clinux_started_thread;

static inline clinux_started_thread clinux_start_thread(
    const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    clinux_started_thread started = {0};
    started.error = pthread_create(&started.thread, attributes, body, argument);
    return started;
}

// Calls a function with a value when the calling thread ends, before the destructors of thread-specific values, or when
// it calls `exit`. Returns nonzero if the C library lacks this, as Musl does.
#if defined(__GLIBC__) || defined(__BIONIC__)
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *value, void *library);
static inline int clinux_at_thread_exit(void (*destructor)(void *), void *value) {
    return __cxa_thread_atexit_impl(destructor, value, (void *)destructor);
}
#else
static inline int clinux_at_thread_exit(void (*destructor)(void *), void *value) { return -1; }
#endif

// Declared here, the destructor has one type in Swift, whatever the C library says about null pointers.
static inline int clinux_make_thread_key(pthread_key_t *key, void (*destructor)(void *)) {
    return pthread_key_create(key, destructor);
}

// A descriptor for a process: no C library of that age has a function for it.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
static inline int clinux_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// Whether the child behind a pidfd has ended, without waiting. 1 if so, with waitid's code and status; 0 if not; -1 and
// errno on failure. (siginfo_t is a union behind macros, which Swift does not see; P_PIDFD is 3.)
static inline int clinux_wait(int pidfd, int reaps, int *code, int *status) {
    siginfo_t info = {0};
    long result = syscall(SYS_waitid, 3, pidfd, &info, WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT), 0);
    if (result < 0) return -1;
    *code = info.si_code;
    *status = info.si_status;
    return info.si_pid != 0;
}

// The unwinder, which the runtimes of Swift and C++ link. Weak, and tested for NULL: a program need not have it. Under
// names of our own, since the compiler's unwind.h declares them with its own types.
extern int clinux_unwind(int (*visit)(void *frame, void *context), void *context) __asm__("_Unwind_Backtrace")
    __attribute__((weak));
extern unsigned long clinux_frame_address(void *frame, int *is_exact) __asm__("_Unwind_GetIPInfo")
    __attribute__((weak));

// The backtrace that one thread requests of another.
//
// | from | to | by |
// |---|---|---|
// | idle | claimed, then requested | the requesting thread, which sets `thread` between, and then sends the signal |
// | requested | taking, then taken | the handler, which writes the addresses between |
// | taken | idle | the requesting thread, which has read the addresses |
// | requested | idle | the requesting thread, which gives up: a late signal finds no request |
// | taking | abandoned | the same, while the handler writes |
// | abandoned | idle | the handler |
// | any | idle | a forked child, which has none of its parent's other threads |
enum { CLINUX_BACKTRACE_CAPACITY = 128 };
enum {
    CLINUX_BACKTRACE_IDLE, CLINUX_BACKTRACE_CLAIMED, CLINUX_BACKTRACE_REQUESTED, CLINUX_BACKTRACE_TAKING,
    CLINUX_BACKTRACE_TAKEN, CLINUX_BACKTRACE_ABANDONED
};
typedef struct {
    int state;
    int thread;
    int was_interrupted;
    int count;
    long long time;
    unsigned long addresses[CLINUX_BACKTRACE_CAPACITY];
} clinux_backtrace;

// One for the process.
CLINUX_ONE clinux_backtrace clinux_the_backtrace = {0};

static inline clinux_backtrace *clinux_shared_backtrace(void) { return &clinux_the_backtrace; }

static inline int clinux_visit_frame(void *frame, void *context) {
    clinux_backtrace *backtrace = context;
    int is_exact = 0;
    unsigned long address = clinux_frame_address(frame, &is_exact);
    // In a frame that a signal has interrupted, the address is not behind a call. The frames before the first such
    // frame are the handler's.
    if (is_exact && !backtrace->was_interrupted) {
        backtrace->was_interrupted = 1;
        backtrace->count = 0;
    }
    if (address == 0 || backtrace->count == CLINUX_BACKTRACE_CAPACITY) return 5;  // _URC_END_OF_STACK
    // Inside the call, not behind it, where another function may begin.
    backtrace->addresses[backtrace->count++] = is_exact ? address : address - 1;
    return 0;
}

// Writes the calling thread's backtrace. Async-signal-safe once it has been called outside a handler: the first call
// initializes the unwinder, and where the unwinder takes a lock at all, it is the loader's, which is recursive.
static inline void clinux_write_backtrace(clinux_backtrace *backtrace) {
    backtrace->was_interrupted = 0;
    backtrace->count = 0;
    if (clinux_unwind && clinux_frame_address) clinux_unwind(clinux_visit_frame, backtrace);
}

// Acquire and release: the handler sees `thread`, and the requesting thread sees the addresses.
static inline int clinux_change_backtrace(int from, int to) {
    return __atomic_compare_exchange_n(
        &clinux_shared_backtrace()->state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

CLINUX_ONE void clinux_handle_backtrace_signal(int signal) {
    (void)signal;
    int saved = errno;
    clinux_backtrace *shared = clinux_shared_backtrace();
    if (__atomic_load_n(&shared->thread, __ATOMIC_RELAXED) == clinux_thread_id()
        && clinux_change_backtrace(CLINUX_BACKTRACE_REQUESTED, CLINUX_BACKTRACE_TAKING)) {
        shared->time = clinux_nanoseconds(CLOCK_MONOTONIC);
        clinux_write_backtrace(shared);
        if (!clinux_change_backtrace(CLINUX_BACKTRACE_TAKING, CLINUX_BACKTRACE_TAKEN))
            clinux_change_backtrace(CLINUX_BACKTRACE_ABANDONED, CLINUX_BACKTRACE_IDLE);
    }
    errno = saved;
}

// Installs the handler, for good: a signal may be pending when no thread asks any more. 0, or the number of an error;
// EBUSY if the program handles the signal.
static inline int clinux_install_backtrace_signal(int signal) {
    struct sigaction old, action = {0};
    if (sigaction(signal, 0, &old) != 0) return errno;
    if (old.sa_handler == clinux_handle_backtrace_signal) return 0;
    if ((old.sa_flags & SA_SIGINFO) || (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)) return EBUSY;
    action.sa_handler = clinux_handle_backtrace_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(signal, &action, 0) == 0 ? 0 : errno;
}

// Requests a thread's backtrace. 0 if another request is under way; otherwise clinux_end_backtrace must follow.
static inline int clinux_request_backtrace(int thread, int signal) {
    if (!clinux_change_backtrace(CLINUX_BACKTRACE_IDLE, CLINUX_BACKTRACE_CLAIMED)) return 0;
    __atomic_store_n(&clinux_shared_backtrace()->thread, thread, __ATOMIC_RELAXED);
    clinux_change_backtrace(CLINUX_BACKTRACE_CLAIMED, CLINUX_BACKTRACE_REQUESTED);
    syscall(SYS_tgkill, getpid(), thread, signal);
    return 1;
}

// Acquire: the caller sees the addresses.
static inline int clinux_has_backtrace(void) {
    return __atomic_load_n(&clinux_shared_backtrace()->state, __ATOMIC_ACQUIRE) == CLINUX_BACKTRACE_TAKEN;
}

// Of the answer. An access from Swift would count as one of the whole request, with the state.
static inline int clinux_backtrace_count(void) { return clinux_shared_backtrace()->count; }
static inline long long clinux_backtrace_time(void) { return clinux_shared_backtrace()->time; }
static inline unsigned long clinux_backtrace_address(int index) { return clinux_shared_backtrace()->addresses[index]; }

static inline void clinux_pause(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    syscall(SYS_nanosleep, &time, 0);
}

// Ends the caller's request, answered or not. None is under way in a child that the caller's signal handler has forked
// meanwhile: the child itself has written that, so relaxed.
static inline void clinux_end_backtrace(void) {
    // The handler may answer between two of these.
    while (!clinux_change_backtrace(CLINUX_BACKTRACE_REQUESTED, CLINUX_BACKTRACE_IDLE)
           && !clinux_change_backtrace(CLINUX_BACKTRACE_TAKING, CLINUX_BACKTRACE_ABANDONED)
           && !clinux_change_backtrace(CLINUX_BACKTRACE_TAKEN, CLINUX_BACKTRACE_IDLE)
           && __atomic_load_n(&clinux_shared_backtrace()->state, __ATOMIC_RELAXED) != CLINUX_BACKTRACE_IDLE) {}
}

// Called in every forked child: the thread whose request was under way does not exist in it. Relaxed: no other does.
static inline void clinux_leave_backtrace_to_parent(void) {
    __atomic_store_n(&clinux_shared_backtrace()->state, CLINUX_BACKTRACE_IDLE, __ATOMIC_RELAXED);
}

// What the loader has mapped. <link.h> hides these, and the type of their argument.
#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr clinux_elf_header;
typedef Elf64_Phdr clinux_elf_segment;
typedef Elf64_Shdr clinux_elf_section;
typedef Elf64_Sym clinux_elf_symbol;
#else
typedef Elf32_Ehdr clinux_elf_header;
typedef Elf32_Phdr clinux_elf_segment;
typedef Elf32_Shdr clinux_elf_section;
typedef Elf32_Sym clinux_elf_symbol;
#endif
typedef struct {
    unsigned long base;
    const char *name;
    const clinux_elf_segment *segments;
    unsigned short count;
} clinux_module;
extern int clinux_visit_modules(
    int (*visit)(clinux_module *module, unsigned long size, void *context), void *context)
    __asm__("dl_iterate_phdr");

static inline long clinux_read_link(const char *path, char *buffer, unsigned long size) {
    return readlink(path, buffer, size);
}

// Of Swift's runtime. The result is allocated by malloc.
extern char *clinux_demangle(
    const char *name, unsigned long length, char *buffer, unsigned long *capacity, unsigned flags)
    __asm__("swift_demangle") __attribute__((weak));
static inline char *clinux_demangled(const char *name, unsigned long length) {
    return clinux_demangle ? clinux_demangle(name, length, 0, 0, 0) : 0;
}
static inline void clinux_free(char *text) { free(text); }

// What libdispatch exports for run loops: the main queue's eventfd, and the call that runs the queued jobs. Weak, and
// tested for NULL, because a program need not have libdispatch. (dlsym finds them in dynamically linked programs only.)
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *ignored) __attribute__((weak));

// Stand-ins for standard streams that are closed. In the first call that concerns the main queue libdispatch makes the
// eventfd, which must not get the number of a stream: the program would write its output there.
struct clinux_streams {
    int fillers[3], count;
};

static inline struct clinux_streams clinux_fill_streams(void) {
    struct clinux_streams streams = {.count = 0};
    int filler;
    while ((filler = eventfd(0, EFD_CLOEXEC)) >= 0 && filler <= 2) streams.fillers[streams.count++] = filler;
    if (filler > 2) close(filler);
    return streams;
}

static inline void clinux_close_streams(struct clinux_streams streams) {
    while (streams.count > 0) close(streams.fillers[--streams.count]);
}

// -1 when there is no main queue.
static inline int clinux_main_queue_descriptor(void) {
    if (!_dispatch_get_main_queue_handle_4CF) return -1;
    struct clinux_streams streams = clinux_fill_streams();
    int queue = _dispatch_get_main_queue_handle_4CF();
    clinux_close_streams(streams);
    return queue;
}

static inline void clinux_drain_main_queue(void) {
    if (_dispatch_main_queue_callback_4CF) _dispatch_main_queue_callback_4CF(0);
}

// Weak for the same reason; under names of our own, since libdispatch's module declares them with its own types.
extern char clinux_dispatch_main_queue __asm__("_dispatch_main_q") __attribute__((weak));
extern void clinux_dispatch_async(void *queue, void *context, void (*work)(void *)) __asm__("dispatch_async_f")
    __attribute__((weak));

// Does nothing when there is no main queue.
static inline void clinux_post_to_main_queue(void (*work)(void *)) {
    if (!clinux_dispatch_async) return;
    struct clinux_streams streams = clinux_fill_streams();
    clinux_dispatch_async(&clinux_dispatch_main_queue, 0, work);
    clinux_close_streams(streams);
}

// Macros that Swift does not import.
static const unsigned int CLINUX_EPOLLIN = EPOLLIN;
static const unsigned int CLINUX_EPOLLET = EPOLLET;

#include "SignalListening.h"
#include "Sockets.h"
#include "Spawning.h"

#endif
