// How a child process is started, with what Swift's module of the C library lacks.
#ifndef CLINUX_SPAWNING_H
#define CLINUX_SPAWNING_H

#include <ctype.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

// Under a name of our own: another module declares it, too.
extern char **clinux_environment __asm__("environ");

// GNU extensions. Musl has the first one only. Where the symbol may be missing, it is weak, and tested for NULL.
#if defined(__GLIBC__) || defined(__BIONIC__)
#define CLINUX_MAYBE __attribute__((weak))
#else
#define CLINUX_MAYBE
#endif
extern int clinux_spawn_add_folder(posix_spawn_file_actions_t *actions, const char *path)
    __asm__("posix_spawn_file_actions_addchdir_np") CLINUX_MAYBE;
#ifdef __GLIBC__
extern int clinux_spawn_add_close_from(posix_spawn_file_actions_t *actions, int first)
    __asm__("posix_spawn_file_actions_addclosefrom_np") CLINUX_MAYBE;
#endif

// What a child gets as a standard stream, if it is not a descriptor of this process.
enum { CLINUX_STREAM_INHERITED = -1, CLINUX_STREAM_NULL = -2, CLINUX_STREAM_AS_OUTPUT = -3 };

// Closes every descriptor from 3 on in the child. An older C library closes those that are open now, and would not
// close on exec.
static inline int clinux_spawn_close_others(posix_spawn_file_actions_t *actions) {
#ifdef __GLIBC__
    if (clinux_spawn_add_close_from) return clinux_spawn_add_close_from(actions, 3);
#endif
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    int error = 0;
    for (struct dirent *entry; !error && (entry = readdir(folder));) {
        int number = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (number < 3 || (fcntl(number, F_GETFD) & FD_CLOEXEC)) continue;
        error = posix_spawn_file_actions_addclose(actions, number);
    }
    closedir(folder);
    return error;
}

// Starts a program in a process group of its own, with no signal blocked and the default disposition for all. No
// environment stands for that of this process. Returns posix_spawn's error, or 0.
static inline int clinux_spawn(
    int *process, const char *program, char *const arguments[], char *const *environment, const char *folder,
    const int streams[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if ((error = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    for (int number = 0; !error && number < 3; number++) {
        int stream = streams[number];
        if (stream == CLINUX_STREAM_NULL) {
            error = posix_spawn_file_actions_addopen(
                &actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
        } else if (stream == CLINUX_STREAM_AS_OUTPUT) {
            error = posix_spawn_file_actions_adddup2(&actions, 1, number);
        } else if (stream != CLINUX_STREAM_INHERITED) {
            error = posix_spawn_file_actions_adddup2(&actions, stream, number);
        }
    }
    if (!error && folder) error = clinux_spawn_add_folder ? clinux_spawn_add_folder(&actions, folder) : ENOSYS;
    if (!error) error = clinux_spawn_close_others(&actions);
    sigset_t signals;
    sigemptyset(&signals);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &signals);
    // Those of the C library too, which sigfillset leaves out, and which it would ignore in the child.
    memset(&signals, 0xFF, sizeof signals);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &signals);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    if (!error)
        error = posix_spawnp(
            &child, program, &actions, &attributes, arguments, environment ? environment : clinux_environment);
    *process = child;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

// Another number for the open file, above those of the standard streams. Swift does not import a function with a variable
// number of arguments.
static inline int clinux_duplicate_above_streams(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

// Whether a call has failed for lack of descriptors or memory.
static inline bool clinux_is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// A process other than the leader that is in a process group and has not ended: its pidfd, or -1 if there is none. -2 if
// it cannot be known: without /proc, or a descriptor.
static inline int clinux_open_member_of_group(int group) {
    DIR *processes = opendir("/proc");
    if (!processes) return -2;
    int found = -1;
    while (found == -1) {
        errno = 0;
        struct dirent *entry = readdir(processes);
        if (!entry) {
            if (errno) found = -2;
            break;
        }
        int process = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (process == 0 || process == group) continue;
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
        int file = clinux_open_for_reading(path);
        if (file < 0 && clinux_is_shortage(errno)) found = -2;
        if (file < 0) continue;
        long count = clinux_read(file, text, sizeof text - 1);
        clinux_close(file);
        if (count <= 0) continue;
        text[count] = 0;
        // "number (name) state parent group …": a name may contain parentheses.
        const char *rest = strrchr(text, ')');
        int its_group = 0;
        if (!rest || sscanf(rest + 1, " %*c %*d %d", &its_group) != 1 || its_group != group) continue;
        int pidfd = clinux_pidfd_open(process);
        if (pidfd < 0 && clinux_is_shortage(errno)) found = -2;
        if (pidfd < 0) continue;
        // Another process may have got the number before: then that is not in the group, or the pidfd is readable.
        struct pollfd request = {pidfd, POLLIN, 0};
        if (getpgid(process) == group && clinux_poll(&request, 1) == 0) {
            found = pidfd;
        } else {
            clinux_close(pidfd);
        }
    }
    closedir(processes);
    return found;
}

static inline int clinux_kill(int process, int signal) { return kill(process, signal); }

// Under names of our own, which hide nothing from the tests.
static inline int clinux_group_of(int process) { return getpgid(process); }
static inline int clinux_reap(int process) { return waitpid(process, 0, 0); }

static inline bool clinux_is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

// The error of entering a folder, or 0.
static inline int clinux_error_entering(const char *folder) {
    struct stat status;
    if (stat(folder, &status) != 0) return errno;
    if (!S_ISDIR(status.st_mode)) return ENOTDIR;
    return access(folder, X_OK) == 0 ? 0 : errno;
}

// Waits until the child behind a pidfd has ended, and reaps nothing.
static inline void clinux_wait_for_end(int pidfd) {
    siginfo_t info = {0};
    while (syscall(SYS_waitid, 3, pidfd, &info, WEXITED | WNOWAIT, 0) < 0 && errno == EINTR) {}
}

#endif
