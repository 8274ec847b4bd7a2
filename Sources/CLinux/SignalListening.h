// How signals reach the listeners of a process: a handler of sigaction writes each arrival into each listener's pipe.
//
// The list of a signal's listeners changes under a lock of the caller's. Handlers read it without one, on any thread:
//
// | who | does, in this order |
// |---|---|
// | a handler | counts itself in `inside`; walks the list, and writes; takes itself out of `inside` |
// | who adds a listener | fills it in; makes it the first of the list |
// | who removes one | takes it out of the list, and leaves its `next`; looks at `inside` |
//
// If its owner finds `inside` zero, no handler sees a removed listener: one that counts itself later finds the list
// without it. So the pipe may be closed. Otherwise the owner looks again later, and nobody waits. These accesses are
// sequentially consistent: a store of one side, and then a load of what the other side stores.
#ifndef CLINUX_SIGNAL_LISTENING_H
#define CLINUX_SIGNAL_LISTENING_H

enum { CLINUX_SIGNALS = 65 };

// What a handler learns of a signal. siginfo_t is a union behind macros, which Swift does not see. A pipe has room for
// 4,096.
typedef struct {
    int process;
    unsigned user;
    int code : 25;
    unsigned signal : 7;
    int value;
} clinux_arrival;

// The listener of one signal. Those of one source write to the same pipe.
typedef struct clinux_signal_listener {
    // The ends of a pipe, which do not block.
    int reader, writer;
    // How many arrivals had no room there.
    unsigned lost;
    // How often an ordinary signal has come since its last arrival was taken. Only the first is written, so there is
    // always room for it. The reader sets zero after it has read that, and before it handles it.
    unsigned pending;
    struct clinux_signal_listener *next;
} clinux_signal_listener;

typedef struct {
    // Zero before the first listener. A forked child has another number, and finds the lists of its parent.
    int process;
    int inside;
    clinux_signal_listener *listeners[CLINUX_SIGNALS];
    struct sigaction old[CLINUX_SIGNALS];
} clinux_signals;

// One for the process.
CLINUX_ONE clinux_signals clinux_the_signals = {0};

static inline clinux_signals *clinux_shared_signals(void) { return &clinux_the_signals; }

// As a signalfd reports it: members that the signal does not have are zero.
static inline clinux_arrival clinux_arrival_of(int signal, const siginfo_t *info) {
    // The kernel's codes, and those of `sigqueue`, are small; a process can choose any negative one.
    const int smallest = -(1 << 24);
    clinux_arrival arrival = {0, 0, info->si_code < smallest ? smallest : info->si_code, (unsigned)signal, 0};
    int is_queued = info->si_code == SI_QUEUE || info->si_code == SI_MESGQ || info->si_code == SI_ASYNCIO;
    int is_sent = is_queued || info->si_code == SI_USER || info->si_code == SI_TKILL;
    if (is_sent || (signal == SIGCHLD && info->si_code > 0)) {
        arrival.process = info->si_pid;
        arrival.user = info->si_uid;
    }
    if (is_queued || info->si_code == SI_TIMER) arrival.value = info->si_value.sival_int;
    return arrival;
}

// Gives the signal its old effect again, and sends it again with all that is known of it. It arrives when the handler
// returns, which blocks it until then.
static inline void clinux_pass_signal_on(int signal, siginfo_t *info) {
    sigaction(signal, &clinux_shared_signals()->old[signal], 0);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), clinux_thread_id(), signal, info);
}

// Whether a thread cannot continue behind the signal: the processor found a fault, or the kernel refused a call.
static inline int clinux_is_fault(int signal, const siginfo_t *info) {
    if (info->si_code <= 0) return 0;
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP
        || signal == SIGSYS;
}

// Writes an arrival, or counts it as lost if the pipe is full.
static inline void clinux_write_arrival(clinux_signal_listener *listener, const clinux_arrival *arrival) {
    // F_GETPIPE_SZ, which fails for a file that is no pipe: it would swallow the arrival.
    long result = fcntl(listener->writer, 1032);
    if (result >= 0) result = clinux_write(listener->writer, arrival, sizeof *arrival);
    if (result == sizeof *arrival) return;
    if (result >= 0 || errno != EAGAIN)
        clinux_descriptor_failed("write", "pipe", listener->reader, listener->writer, result);
    __atomic_fetch_add(&listener->lost, 1, __ATOMIC_RELAXED);
}

// The handler. Only what POSIX allows there, and no call of Swift's. Its address tells whether it is installed.
CLINUX_ONE void clinux_hear_signal(int signal, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    clinux_signals *shared = clinux_shared_signals();
    if (getpid() != __atomic_load_n(&shared->process, __ATOMIC_RELAXED) || clinux_is_fault(signal, info)) {
        clinux_pass_signal_on(signal, info);
    } else {
        __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST);
        clinux_arrival arrival = clinux_arrival_of(signal, info);
        clinux_signal_listener *listener = __atomic_load_n(&shared->listeners[signal], __ATOMIC_SEQ_CST);
        while (listener) {
            // The kernel queues signals from 32 on. What was done before another one is visible to who sets zero.
            if (signal >= 32 || __atomic_fetch_add(&listener->pending, 1, __ATOMIC_RELEASE) == 0)
                clinux_write_arrival(listener, &arrival);
            listener = __atomic_load_n(&listener->next, __ATOMIC_SEQ_CST);
        }
        __atomic_fetch_sub(&shared->inside, 1, __ATOMIC_SEQ_CST);
    }
    errno = saved;
}

static inline int clinux_hears_signal(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == clinux_hear_signal;
}

// Installs the handler, and remembers what it replaces. 0, or the number of an error.
static inline int clinux_install_signal_handler(int signal) {
    struct sigaction now, action = {0};
    if (sigaction(signal, 0, &now) != 0) return errno;
    // A forked child has its parent's handler, and remembers what that has replaced.
    if (!clinux_hears_signal(&now)) clinux_shared_signals()->old[signal] = now;
    action.sa_sigaction = clinux_hear_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    // Children of a program that ignores their end are reaped by the kernel as before.
    if (signal == SIGCHLD) {
        action.sa_flags |= now.sa_flags & (SA_NOCLDWAIT | SA_NOCLDSTOP);
        if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN) action.sa_flags |= SA_NOCLDWAIT;
    }
    // No other handler interrupts this one: a thread writes its arrivals in their order.
    sigfillset(&action.sa_mask);
    return sigaction(signal, &action, 0) == 0 ? 0 : errno;
}

// Gives the signal its old effect again, unless the program has installed another handler meanwhile.
static inline void clinux_restore_signal_handler(int signal) {
    struct sigaction now;
    if (sigaction(signal, 0, &now) == 0 && clinux_hears_signal(&now))
        sigaction(signal, &clinux_shared_signals()->old[signal], 0);
}

// Called in every forked child. Its number may be that of its parent: in a new PID namespace, or if numbers are used
// again.
static inline void clinux_leave_signals_to_parent(void) {
    __atomic_store_n(&clinux_shared_signals()->process, 0, __ATOMIC_RELAXED);
}

// Adds a listener. The first one of a signal installs the handler. 0, or the number of an error.
static inline int clinux_add_signal_listener(int signal, clinux_signal_listener *listener) {
    clinux_signals *shared = clinux_shared_signals();
    if (shared->process != getpid()) {
        // The listeners of the parent hear nothing of this process, whose signals have their old effect again.
        for (int number = 1; number < CLINUX_SIGNALS; number++) {
            if (shared->listeners[number]) clinux_restore_signal_handler(number);
            shared->listeners[number] = 0;
        }
        shared->inside = 0;
        __atomic_store_n(&shared->process, getpid(), __ATOMIC_RELAXED);
    }
    clinux_signal_listener *first = shared->listeners[signal];
    listener->next = first;
    __atomic_store_n(&shared->listeners[signal], listener, __ATOMIC_SEQ_CST);
    int error = first ? 0 : clinux_install_signal_handler(signal);
    if (error) __atomic_store_n(&shared->listeners[signal], (clinux_signal_listener *)0, __ATOMIC_SEQ_CST);
    return error;
}

// Takes a listener out of the list. With the last one of a signal goes the handler.
static inline void clinux_remove_signal_listener(int signal, clinux_signal_listener *listener) {
    clinux_signals *shared = clinux_shared_signals();
    clinux_signal_listener **link = &shared->listeners[signal];
    if (*link == listener && !listener->next) clinux_restore_signal_handler(signal);
    while (*link && *link != listener) link = &(*link)->next;
    if (*link) __atomic_store_n(link, listener->next, __ATOMIC_SEQ_CST);
}

// Whether a handler may still see a listener that was removed before.
static inline bool clinux_is_hearing_signals(void) {
    return __atomic_load_n(&clinux_shared_signals()->inside, __ATOMIC_SEQ_CST) != 0;
}

// The address of the handler that a source's has replaced; 0 if there was none.
static inline unsigned long clinux_replaced_signal_handler(int signal) {
    const struct sigaction *old = &clinux_shared_signals()->old[signal];
    if (old->sa_flags & SA_SIGINFO) return (unsigned long)old->sa_sigaction;
    return old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN ? 0 : (unsigned long)old->sa_handler;
}

// What happens now when a signal comes.
enum { CLINUX_OF_LIBRARY, CLINUX_IGNORED, CLINUX_BY_DEFAULT, CLINUX_OTHER_HANDLER };

// `handler` gets the address of another handler than the library's.
static inline unsigned clinux_signal_effect(int signal, unsigned long *handler) {
    struct sigaction now;
    if (sigaction(signal, 0, &now) != 0 || clinux_hears_signal(&now)) return CLINUX_OF_LIBRARY;
    if (now.sa_flags & SA_SIGINFO) {
        *handler = (unsigned long)now.sa_sigaction;
        return CLINUX_OTHER_HANDLER;
    }
    if (now.sa_handler == SIG_IGN) return CLINUX_IGNORED;
    if (now.sa_handler == SIG_DFL) return CLINUX_BY_DEFAULT;
    *handler = (unsigned long)now.sa_handler;
    return CLINUX_OTHER_HANDLER;
}

// Called after the arrival was read, and before it is handled: what comes later is written again.
static inline unsigned clinux_take_pending_signals(clinux_signal_listener *listener) {
    return __atomic_exchange_n(&listener->pending, 0, __ATOMIC_ACQUIRE);
}

static inline unsigned clinux_take_lost_signals(clinux_signal_listener *listener) {
    return __atomic_exchange_n(&listener->lost, 0, __ATOMIC_RELAXED);
}

#endif
