internal import CLinux

extension System {
    /// The errno of a call that has just failed.
    static var lastError: Int32 { clinux_errno() }

    /// The error of values that are valid nowhere.
    static var invalidArgument: Int32 { EINVAL }

    /// The error of a descriptor that is not open, or not what it was.
    static var badDescriptor: Int32 { EBADF }

    /// The error of what has taken too long.
    static var timedOut: Int32 { ETIMEDOUT }

    /// The error of a path that may not be used.
    static var accessDenied: Int32 { EACCES }

    /// Whether an error says that there is no folder at a path.
    static func saysNoFolder(_ code: Int32) -> Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// Whether a call that opens or watches a folder has failed for a reason that does not lie in the folder:
    /// descriptors, memory or watches are exhausted, or the call is wrong.
    static func concernsNoFolder(_ code: Int32) -> Bool {
        switch code {
        case EMFILE, ENFILE, ENOMEM, ENOSPC, EBADF, EEXIST, EFAULT, EINVAL: true
        default: false
        }
    }

    /// errno's symbolic name and text, such as `Too many open files (EMFILE)`.
    static func describe(errno code: Int32) -> String {
        let name =
            switch code {
            case EMFILE: "EMFILE"
            case ENFILE: "ENFILE"
            case ENOMEM: "ENOMEM"
            case ENOSPC: "ENOSPC"
            case EAGAIN: "EAGAIN"
            case EPERM: "EPERM"
            case EACCES: "EACCES"
            case EBADF: "EBADF"
            case EEXIST: "EEXIST"
            case EINVAL: "EINVAL"
            case ENOSYS: "ENOSYS"
            case ESRCH: "ESRCH"
            case ECHILD: "ECHILD"
            case EBUSY: "EBUSY"
            case ELOOP: "ELOOP"
            case ENOENT: "ENOENT"
            case ENOTDIR: "ENOTDIR"
            case ENAMETOOLONG: "ENAMETOOLONG"
            case E2BIG: "E2BIG"
            case ENOEXEC: "ENOEXEC"
            case ETXTBSY: "ETXTBSY"
            case EISDIR: "EISDIR"
            case EPIPE: "EPIPE"
            case EIO: "EIO"
            case ENOTCONN: "ENOTCONN"
            case ECONNRESET: "ECONNRESET"
            case ECONNREFUSED: "ECONNREFUSED"
            case ECONNABORTED: "ECONNABORTED"
            case ETIMEDOUT: "ETIMEDOUT"
            case EADDRINUSE: "EADDRINUSE"
            case EADDRNOTAVAIL: "EADDRNOTAVAIL"
            case EAFNOSUPPORT: "EAFNOSUPPORT"
            case EHOSTUNREACH: "EHOSTUNREACH"
            case ENETUNREACH: "ENETUNREACH"
            case ENOBUFS: "ENOBUFS"
            case ENOTSOCK: "ENOTSOCK"
            default: "errno \(code)"
            }
        return "\(String(cString: strerror(code))) (\(name))"
    }
}
