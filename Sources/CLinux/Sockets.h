// Sockets and other streams of bytes: what Swift's modules of the C libraries lack, or see in different ways. Calls that
// a C library makes a cancellation point go straight to the kernel, as in CLinux.h.
#ifndef CLINUX_SOCKETS_H
#define CLINUX_SOCKETS_H

#include <arpa/inet.h>

// The greatest address: two bytes for the family, and a path of 108.
enum { CLINUX_ADDRESS_CAPACITY = 110 };

// A stream socket that does not block, and is closed on exec.
static inline int clinux_make_stream_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static inline int clinux_bind(int socket, const void *address, unsigned size) { return bind(socket, address, size); }

static inline int clinux_connect(int socket, const void *address, unsigned size) {
    return (int)syscall(SYS_connect, socket, address, size);
}

// Under another name than Swift's function of the kernel folder.
static inline int clinux_listen(int socket, int backlog) { return listen(socket, backlog); }

static inline int clinux_accept(int socket) {
    return (int)syscall(SYS_accept4, socket, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Return the size of the address, or -1.
static inline int clinux_own_address(int descriptor, void *address) {
    socklen_t size = CLINUX_ADDRESS_CAPACITY;
    return getsockname(descriptor, address, &size) == 0 ? (int)size : -1;
}

static inline int clinux_peer_address(int descriptor, void *address) {
    socklen_t size = CLINUX_ADDRESS_CAPACITY;
    return getpeername(descriptor, address, &size) == 0 ? (int)size : -1;
}

static inline int clinux_allow_reuse(int socket) {
    int yes = 1;
    return setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

static inline int clinux_share_port(int socket) {
    int yes = 1;
    return setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
}

// An option of a socket as a number, or -1.
static inline int clinux_socket_option(int descriptor, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// The error that a socket keeps, such as that of a connect; 0 if there is none. It keeps it no longer.
static inline int clinux_take_error(int descriptor) {
    int error = clinux_socket_option(descriptor, SO_ERROR);
    return error < 0 ? errno : error;
}

// These return 1 if so, 0 if not, and -1 on failure.
static inline int clinux_is_stream_socket(int descriptor) {
    int type = clinux_socket_option(descriptor, SO_TYPE);
    return type < 0 ? -1 : type == SOCK_STREAM;
}

static inline int clinux_is_unix_socket(int descriptor) {
    int family = clinux_socket_option(descriptor, SO_DOMAIN);
    return family < 0 ? -1 : family == AF_UNIX;
}

static inline int clinux_is_listening(int descriptor) { return clinux_socket_option(descriptor, SO_ACCEPTCONN); }

static inline int clinux_is_socket(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) < 0 ? -1 : S_ISSOCK(status.st_mode);
}

// O_RDONLY, O_WRONLY or O_RDWR; -1 for a descriptor that is not open.
static inline int clinux_access_mode(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : flags & O_ACCMODE;
}

// Whether a call that would have to wait fails instead.
static inline bool clinux_is_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK;
}

// Sets O_NONBLOCK and FD_CLOEXEC.
static inline int clinux_make_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL), own = fcntl(descriptor, F_GETFD);
    if (flags < 0 || own < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    return fcntl(descriptor, F_SETFD, own | FD_CLOEXEC);
}

static inline int clinux_finish_sending(int socket) { return shutdown(socket, SHUT_WR); }
static inline int clinux_finish_receiving(int socket) { return shutdown(socket, SHUT_RD); }

static inline long clinux_send(int socket, const void *bytes, unsigned long count) {
    return syscall(SYS_sendto, socket, bytes, count, MSG_NOSIGNAL, 0, 0);
}

// Writes without raising SIGPIPE: a pipe has no MSG_NOSIGNAL. The thread blocks the signal meanwhile, and takes back
// the one that the call has sent to it.
static inline long clinux_write_quietly(int descriptor, const void *bytes, unsigned long count) {
    sigset_t pipe, old, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    sigpending(&pending);
    long written = clinux_write(descriptor, bytes, count);
    int error = errno;
    if (written < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
        struct { long seconds, nanoseconds; } none = {0, 0};
        // The kernel's set has 64 bits, the first of the C library's.
        while (syscall(SYS_rt_sigtimedwait, &pipe, 0, &none, 8) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &old, 0);
    errno = error;
    return written;
}

// Which file a path names. The device and the number are those of a file only while that exists.
typedef struct {
    unsigned long long device, number;
    bool exists, is_socket;
} clinux_file;

static inline clinux_file clinux_file_at(const char *path) {
    struct stat status;
    clinux_file file = {0, 0, false, false};
    if (lstat(path, &status) != 0) return file;
    file.device = status.st_dev;
    file.number = status.st_ino;
    file.exists = true;
    file.is_socket = S_ISSOCK(status.st_mode);
    return file;
}

// The bytes of an address from its numbers as text, and the reverse. Returns whether there was one.
static inline bool clinux_parse_address(int family, const char *text, void *bytes) {
    return inet_pton(family, text, bytes) == 1;
}

static inline bool clinux_print_address(int family, const void *bytes, char text[64]) {
    return inet_ntop(family, bytes, text, 64) != 0;
}

#endif
