#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    extension Faults.Call {
        /// The errors that the manual lists for this call (section 2, or 3 for functions of pthread), except for those
        /// of arguments that the library never passes: unknown flags, and addresses outside its memory.
        var errors: [Int32] {
            switch self {
            case .epollCreate: [EMFILE, ENFILE, ENOMEM]
            // EEXIST, ENOENT: the descriptor is, or is not, in the set. ELOOP and EPERM: another epoll set, a file.
            case .epollAdd: [EBADF, EEXIST, EINVAL, ELOOP, ENOMEM, ENOSPC, EPERM]
            case .epollModify: [EBADF, EINVAL, ENOENT]
            case .epollDelete: [EBADF, EINVAL, ENOENT, EPERM]
            // EINTR first: the set knows of nothing yet, which also happens without a signal.
            case .epollWait: [EINTR, EBADF, EINVAL]
            case .eventFD: [EMFILE, ENFILE, ENODEV, ENOMEM]
            case .timerCreate: [EMFILE, ENFILE, ENODEV, ENOMEM]
            case .timerSet: [EBADF, EINVAL]
            // The wall clock was set.
            case .timerSetOnWallClock: [EBADF, EINVAL, ECANCELED]
            // ECONNRESET, ETIMEDOUT, ENOMEM: of sockets, by recv(2) and tcp(7).
            case .read: [EAGAIN, EBADF, EINTR, EINVAL, EIO, ECONNRESET, ETIMEDOUT, ENOMEM]
            case .write: [EAGAIN, EBADF, EINTR, EINVAL, EIO, EPIPE, ENOSPC]
            case .poll: [EINTR, EINVAL, ENOMEM]
            case .duplicate: [EBADF, EMFILE]
            case .replace: [EBADF, EBUSY, EINTR, EMFILE]
            case .flags: [EBADF, EPERM]
            case .pipe: [EMFILE, ENFILE]
            case .socket: [EACCES, EAFNOSUPPORT, EMFILE, ENFILE, ENOBUFS, ENOMEM]
            case .bind: [EACCES, EADDRINUSE, EBADF, EINVAL, EADDRNOTAVAIL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EROFS]
            case .listen: [EADDRINUSE, EBADF, ENOTSOCK, EOPNOTSUPP]
            // EINPROGRESS is no fault: it is how a connection begins.
            case .connect:
                [
                    EACCES, EPERM, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN, EBADF, ECONNREFUSED, EINTR,
                    ENETUNREACH, ETIMEDOUT,
                ]
            // The rest are errors of the network, which the kernel passes on.
            case .accept:
                [
                    EAGAIN, EBADF, ECONNABORTED, EINTR, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOTSOCK, EPERM,
                    EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH,
                ]
            case .send: [EAGAIN, EACCES, EBADF, ECONNRESET, EINTR, ENOBUFS, ENOMEM, ENOTCONN, EPIPE, ETIMEDOUT]
            case .shutDown: [EBADF, ENOTSOCK]
            case .setOption: [EBADF, EINVAL, ENOPROTOOPT, ENOTSOCK]
            case .ownAddress: [EBADF, ENOBUFS, ENOTSOCK]
            case .peerAddress: [EBADF, ENOBUFS, ENOTCONN, ENOTSOCK]
            case .unlink: [EACCES, EBUSY, EIO, ENOENT, EPERM, EROFS]
            case .inotifyCreate: [EMFILE, ENFILE, ENOMEM]
            // ENOTCONN is FUSE's.
            case .inotifyAdd:
                [EACCES, EBADF, EEXIST, EINVAL, EIO, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTCONN, ENOTDIR]
            case .inotifyRemove: [EBADF, EINVAL]
            case .openFolder: [EACCES, EIO, EMFILE, ENFILE, ENOENT, ENOMEM, ENOTCONN, ENOTDIR]
            case .resolve: [EACCES, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR]
            case .open: [EACCES, EMFILE, ENFILE, EINTR, ENOENT, ENOMEM]
            case .processFD: [EINVAL, EMFILE, ENFILE, ENODEV, ENOMEM, ENOSYS, ESRCH]
            case .wait: [EBADF, ECHILD, EINVAL]
            case .kill: [EPERM, ESRCH]
            // By fork(2) and execve(2), which posix_spawn(3) passes on.
            case .spawn: [EAGAIN, ENOMEM, E2BIG, EACCES, ELOOP, EMFILE, ENFILE, ENOENT, ENOEXEC, ENOTDIR, ETXTBSY]
            case .createThread: [EAGAIN, EPERM]
            case .handleSignal: [EINVAL]
            case .close: [EINTR, EIO]
            // FUTEX_WAIT's: the word has changed, a signal, the time is up.
            case .futexWait: [EAGAIN, EINTR]
            case .setNice: [EACCES, EPERM, ESRCH]
            case .setScheduler: [EINVAL, EPERM, ESRCH]
            case .setAffinity: [EINVAL, EPERM, ESRCH]
            case .getAffinity: [EINVAL, ESRCH]
            case .setTimerSlack: [EINVAL]
            // The others are those of file systems that lose their device or server.
            case .readFolder: [ENOENT, EBADF, EIO, ESTALE]
            case .status: [EBADF, ENOMEM, EOVERFLOW]
            case .pathStatus: [EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EOVERFLOW]
            case .getOption: [EBADF, EINVAL, ENOPROTOOPT, ENOTSOCK]
            case .getFlags, .isOpen: [EBADF]
            case .group: [EPERM, ESRCH]
            case .reap: [ECHILD, EINTR]
            case .map: [EAGAIN, ENOMEM, EPERM]
            case .makeKey: [EAGAIN, ENOMEM]
            case .atFork: [ENOMEM]
            case .unread: [EBADF, EINVAL, ENOTTY]
            case .unsent: [EBADF, EINVAL, ENOTTY]
            }
        }

        /// How the library names the call where it reports it.
        var names: [String] {
            switch self {
            case .epollAdd, .epollModify, .epollDelete: ["epoll_ctl("]
            case .epollWait: ["epoll_wait("]
            case .timerSetOnWallClock: ["timerfd_settime"]
            case .duplicate: ["fcntl("]
            case .flags: ["fcntl("]
            case .send: ["send("]
            case .openFolder: ["opendir("]
            case .readFolder: ["readdir("]
            case .status: ["fstat("]
            // A connection has the error that its socket is asked for.
            case .getOption: ["getsockopt(", "connect("]
            case .getFlags: ["fcntl("]
            case .map: ["mmap("]
            case .resolve: ["realpath("]
            case .spawn: ["posix_spawn(", "posix_spawnp("]
            case .setTimerSlack: ["prctl(PR_SET_TIMERSLACK"]
            default: [rawValue]
            }
        }
    }

    extension Faults.Fault {
        /// How often the call fails: once, or for ever.
        ///
        /// An interruption is one signal: for ever is a storm of signals. What has no room, or nothing yet, changes: a
        /// kernel does not say so for ever of a descriptor that it reports as ready. An error of the network takes the
        /// accepted connection with it. A listener that may accept nothing tries again each second: twice are enough.
        init(_ call: Faults.Call, first: Int, often: String, error: Int32) {
            var count = Int.max
            if call == .accept, error != EBADF, error != ENOTSOCK { count = 2 }
            if error == EINTR || error == EAGAIN || (call == .accept && Self.ofNetwork.contains(error)) { count = 100 }
            self.init(call, first: first, count: often == "once" ? 1 : count, error: error)
        }

        private static let ofNetwork: Set<Int32> = [
            ECONNABORTED, EPERM, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH,
        ]
    }
#endif
