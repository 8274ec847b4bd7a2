// What the C library's Swift module lacks: the Linux descriptors that a run loop is made of.
//
// No feature macro is defined here: _GNU_SOURCE would change types that the C library's own Swift
// module has already seen. What hides behind it is declared by hand instead.
#ifndef CLINUX_H
#define CLINUX_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// GNU extensions, hidden without _GNU_SOURCE.
extern int pthread_setname_np(pthread_t thread, const char *name);

// The calling thread's kernel id; equal to getpid() on the initial thread only.
static inline int clinux_thread_id(void) { return (int)syscall(SYS_gettid); }

// Macros that Swift does not import.
static const unsigned int CLINUX_EPOLLIN = EPOLLIN;
static const unsigned int CLINUX_EPOLLET = EPOLLET;

#endif
