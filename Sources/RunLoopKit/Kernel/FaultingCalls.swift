#if DEBUG
    internal import CLinux

    // The calls that `Faults` can make fail. Each function here hides the C function of its name and type from the rest
    // of the module, which calls it by the same name in all builds: in a release build that is the C function itself.

    extension Faults {
        /// A kind of system call, by its name in the manual. A function of the C library that makes several counts as
        /// one call.
        package enum Call: String, CaseIterable, Sendable {
            case epollCreate = "epoll_create1"
            case epollAdd = "epoll_ctl(ADD)"
            case epollModify = "epoll_ctl(MOD)"
            case epollDelete = "epoll_ctl(DEL)"
            case epollWait = "epoll_wait"
            case eventFD = "eventfd"
            case timerCreate = "timerfd_create"
            case timerSet = "timerfd_settime"
            case timerSetOnWallClock = "timerfd_settime(CANCEL_ON_SET)"
            case read = "read"
            case write = "write"
            case poll = "poll"
            case duplicate = "fcntl(F_DUPFD_CLOEXEC)"
            case replace = "dup3"
            case flags = "fcntl(F_SETFL)"
            case pipe = "pipe2"
            case socket = "socket"
            case bind = "bind"
            case listen = "listen"
            case connect = "connect"
            case accept = "accept4"
            case send = "sendto"
            case shutDown = "shutdown"
            case setOption = "setsockopt"
            case ownAddress = "getsockname"
            case peerAddress = "getpeername"
            case unlink = "unlink"
            case inotifyCreate = "inotify_init1"
            case inotifyAdd = "inotify_add_watch"
            case inotifyRemove = "inotify_rm_watch"
            case openFolder = "opendir"
            case readFolder = "readdir"
            case resolve = "realpath"
            case open = "openat"
            case processFD = "pidfd_open"
            case wait = "waitid"
            case kill = "kill"
            case spawn = "posix_spawn"
            case createThread = "pthread_create"
            case handleSignal = "sigaction"
            case close = "close"
            case futexWait = "futex(FUTEX_WAIT)"
            case setNice = "setpriority"
            case setScheduler = "sched_setscheduler"
            case setAffinity = "sched_setaffinity"
            case getAffinity = "sched_getaffinity"
            case setTimerSlack = "prctl(PR_SET_TIMERSLACK)"
            case unread = "ioctl(FIONREAD)"
            case unsent = "ioctl(TIOCOUTQ)"
            case status = "fstat"
            case pathStatus = "lstat"
            case getOption = "getsockopt"
            case getFlags = "fcntl(F_GETFL)"
            case isOpen = "fcntl(F_GETFD)"
            case group = "getpgid"
            case reap = "waitpid"
            case map = "mmap"
            case makeKey = "pthread_key_create"
            case atFork = "pthread_atfork"

            /// Its place among all cases.
            var index: Int { Int(unsafeBitCast(self, to: UInt8.self)) }
        }
    }

    // MARK: epoll_create1

    func epoll_create1(_ flags: Int32) -> Int32 {
        Faults.fails(.epollCreate) ? -1 : CLinux.epoll_create1(flags)
    }

    // MARK: epoll_wait

    func epoll_wait(
        _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>, _ count: Int32, _ milliseconds: Int32
    ) -> Int32 {
        if Faults.fails(.epollWait) { return -1 }
        return CLinux.epoll_wait(
            epoll, events, count, Schedule.wait(untilReadable: epoll, forMilliseconds: milliseconds))
    }

    func clinux_epoll_poll(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ count: Int32) -> Int32 {
        Faults.fails(.epollWait) ? -1 : CLinux.clinux_epoll_poll(epoll, events, count)
    }

    // MARK: eventfd

    func eventfd(_ count: UInt32, _ flags: Int32) -> Int32 {
        Faults.fails(.eventFD) ? -1 : CLinux.eventfd(count, flags)
    }

    // MARK: timerfd_create

    func timerfd_create(_ clock: Int32, _ flags: Int32) -> Int32 {
        Faults.fails(.timerCreate) ? -1 : CLinux.timerfd_create(clock, flags)
    }

    // MARK: read

    func clinux_read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: UInt) -> Int {
        Faults.fails(.read) ? -1 : CLinux.clinux_read(descriptor, buffer, count)
    }

    // MARK: write

    func clinux_write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: UInt) -> Int {
        if Faults.fails(.write) { return -1 }
        return Schedule.losesWrites ? Int(count) : CLinux.clinux_write(descriptor, bytes, count)
    }

    func clinux_write_quietly(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: UInt) -> Int {
        Faults.fails(.write) ? -1 : CLinux.clinux_write_quietly(descriptor, bytes, count)
    }

    // MARK: poll

    @discardableResult
    func poll(_ requests: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
        if Faults.fails(.poll) { return -1 }
        // The library waits for one descriptor at a time.
        let limit = requests.map { Schedule.wait(untilReadable: $0.pointee.fd, forMilliseconds: milliseconds) }
        return CLinux.poll(requests, count, limit ?? milliseconds)
    }

    func clinux_poll(_ requests: UnsafeMutablePointer<pollfd>?, _ count: UInt) -> Int32 {
        Faults.fails(.poll) ? -1 : CLinux.clinux_poll(requests, count)
    }

    // MARK: fcntl(F_DUPFD_CLOEXEC)

    func clinux_duplicate_above_streams(_ descriptor: Int32) -> Int32 {
        Faults.fails(.duplicate) ? -1 : CLinux.clinux_duplicate_above_streams(descriptor)
    }

    // MARK: dup3

    func clinux_dup3(_ from: Int32, _ to: Int32) -> Int32 {
        Faults.fails(.replace) ? -1 : CLinux.clinux_dup3(from, to)
    }

    // MARK: fcntl(F_SETFL)

    func clinux_make_nonblocking(_ descriptor: Int32) -> Int32 {
        Faults.fails(.flags) ? -1 : CLinux.clinux_make_nonblocking(descriptor)
    }

    // MARK: pipe2

    func pipe2(_ ends: UnsafeMutablePointer<Int32>?, _ flags: Int32) -> Int32 {
        Faults.fails(.pipe) ? -1 : CLinux.pipe2(ends, flags)
    }

    // MARK: socket

    func clinux_make_stream_socket(_ family: Int32) -> Int32 {
        Faults.fails(.socket) ? -1 : CLinux.clinux_make_stream_socket(family)
    }

    // MARK: bind

    func clinux_bind(_ socket: Int32, _ address: UnsafeRawPointer?, _ size: UInt32) -> Int32 {
        Faults.fails(.bind) ? -1 : CLinux.clinux_bind(socket, address, size)
    }

    // MARK: listen

    func clinux_listen(_ socket: Int32, _ backlog: Int32) -> Int32 {
        Faults.fails(.listen) ? -1 : CLinux.clinux_listen(socket, backlog)
    }

    // MARK: connect

    func clinux_connect(_ socket: Int32, _ address: UnsafeRawPointer?, _ size: UInt32) -> Int32 {
        Faults.fails(.connect) ? -1 : CLinux.clinux_connect(socket, address, size)
    }

    // MARK: accept4

    func clinux_accept(_ socket: Int32) -> Int32 {
        Faults.fails(.accept) ? -1 : CLinux.clinux_accept(socket)
    }

    // MARK: sendto

    func clinux_send(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: UInt) -> Int {
        Faults.fails(.send) ? -1 : CLinux.clinux_send(socket, bytes, count)
    }

    // MARK: shutdown

    func clinux_finish_sending(_ socket: Int32) -> Int32 {
        Faults.fails(.shutDown) ? -1 : CLinux.clinux_finish_sending(socket)
    }

    func clinux_finish_receiving(_ socket: Int32) -> Int32 {
        Faults.fails(.shutDown) ? -1 : CLinux.clinux_finish_receiving(socket)
    }

    // MARK: setsockopt

    func clinux_allow_reuse(_ socket: Int32) -> Int32 {
        Faults.fails(.setOption) ? -1 : CLinux.clinux_allow_reuse(socket)
    }

    func clinux_share_port(_ socket: Int32) -> Int32 {
        Faults.fails(.setOption) ? -1 : CLinux.clinux_share_port(socket)
    }

    // MARK: getsockname

    func clinux_own_address(_ descriptor: Int32, _ address: UnsafeMutableRawPointer?) -> Int32 {
        Faults.fails(.ownAddress) ? -1 : CLinux.clinux_own_address(descriptor, address)
    }

    // MARK: getpeername

    func clinux_peer_address(_ descriptor: Int32, _ address: UnsafeMutableRawPointer?) -> Int32 {
        Faults.fails(.peerAddress) ? -1 : CLinux.clinux_peer_address(descriptor, address)
    }

    // MARK: unlink

    @discardableResult
    func unlink(_ path: UnsafePointer<CChar>) -> Int32 {
        Faults.fails(.unlink) ? -1 : CLinux.unlink(path)
    }

    // MARK: inotify_init1

    func clinux_inotify_make() -> Int32 {
        Faults.fails(.inotifyCreate) ? -1 : CLinux.clinux_inotify_make()
    }

    // MARK: inotify_add_watch

    func clinux_inotify_add(_ inotify: Int32, _ path: UnsafePointer<CChar>?, _ mask: UInt32) -> Int32 {
        Faults.fails(.inotifyAdd) ? -1 : CLinux.clinux_inotify_add(inotify, path, mask)
    }

    // MARK: inotify_rm_watch

    func inotify_rm_watch(_ inotify: Int32, _ watch: Int32) -> Int32 {
        Faults.fails(.inotifyRemove) ? -1 : CLinux.inotify_rm_watch(inotify, watch)
    }

    // MARK: openat

    func clinux_open_for_reading(_ path: UnsafePointer<CChar>?) -> Int32 {
        Faults.fails(.open) ? -1 : CLinux.clinux_open_for_reading(path)
    }

    // MARK: pidfd_open

    func clinux_pidfd_open(_ process: Int32) -> Int32 {
        Faults.fails(.processFD) ? -1 : CLinux.clinux_pidfd_open(process)
    }

    // MARK: waitid

    func clinux_wait(
        _ descriptor: Int32, _ reaps: Int32, _ code: UnsafeMutablePointer<Int32>?,
        _ status: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        Faults.fails(.wait) ? -1 : CLinux.clinux_wait(descriptor, reaps, code, status)
    }

    // MARK: kill

    func clinux_kill(_ process: Int32, _ signal: Int32) -> Int32 {
        Faults.fails(.kill) ? -1 : CLinux.clinux_kill(process, signal)
    }

    // MARK: futex(FUTEX_WAIT)

    func clinux_futex_wait(_ word: UnsafeRawPointer?, _ value: UInt32) -> Int {
        if Faults.fails(.futexWait) { return -1 }
        return Schedule.wait(at: word, while: value) ?? CLinux.clinux_futex_wait(word, value)
    }

    func clinux_futex_wait_until(_ word: UnsafeRawPointer?, _ value: UInt32, _ nanoseconds: Int64) -> Int {
        if Faults.fails(.futexWait) { return -1 }
        return Schedule.wait(at: word, while: value, until: nanoseconds)
            ?? CLinux.clinux_futex_wait_until(word, value, nanoseconds)
    }

    // MARK: setpriority

    func clinux_set_nice(_ value: Int32) -> Int32 {
        Faults.fails(.setNice) ? -1 : CLinux.clinux_set_nice(value)
    }

    // MARK: sched_setscheduler

    func clinux_set_scheduling(_ policy: Int32, _ priority: Int32) -> Int32 {
        Faults.fails(.setScheduler) ? -1 : CLinux.clinux_set_scheduling(policy, priority)
    }

    // MARK: sched_setaffinity

    func clinux_set_affinity(_ mask: UnsafePointer<UInt>?, _ bytes: UInt) -> Int32 {
        Faults.fails(.setAffinity) ? -1 : CLinux.clinux_set_affinity(mask, bytes)
    }

    // MARK: sched_getaffinity

    func clinux_get_affinity(_ thread: Int32, _ mask: UnsafeMutablePointer<UInt>?, _ bytes: UInt) -> Int32 {
        Faults.fails(.getAffinity) ? -1 : CLinux.clinux_get_affinity(thread, mask, bytes)
    }

    // MARK: prctl(PR_SET_TIMERSLACK)

    func clinux_set_timer_slack(_ nanoseconds: UInt) -> Int32 {
        Faults.fails(.setTimerSlack) ? -1 : CLinux.clinux_set_timer_slack(nanoseconds)
    }

    // MARK: ioctl(FIONREAD)

    func clinux_unread(_ descriptor: Int32) -> Int32 {
        Faults.fails(.unread) ? -1 : CLinux.clinux_unread(descriptor)
    }

    // MARK: ioctl(TIOCOUTQ)

    func clinux_unsent(_ descriptor: Int32) -> Int32 {
        Faults.fails(.unsent) ? -1 : CLinux.clinux_unsent(descriptor)
    }

    // MARK: fcntl(F_GETFL)

    func clinux_access_mode(_ descriptor: Int32) -> Int32 {
        Faults.fails(.getFlags) ? -1 : CLinux.clinux_access_mode(descriptor)
    }

    func clinux_is_nonblocking(_ descriptor: Int32) -> Bool {
        !Faults.fails(.getFlags) && CLinux.clinux_is_nonblocking(descriptor)
    }

    // MARK: fcntl(F_GETFD)

    func clinux_is_open(_ descriptor: Int32) -> Bool { !Faults.fails(.isOpen) && CLinux.clinux_is_open(descriptor) }

    // MARK: fstat

    func clinux_is_socket(_ descriptor: Int32) -> Int32 {
        Faults.fails(.status) ? -1 : CLinux.clinux_is_socket(descriptor)
    }

    func clinux_is_socket_or_pipe(_ descriptor: Int32) -> Bool {
        !Faults.fails(.status) && CLinux.clinux_is_socket_or_pipe(descriptor)
    }

    func clinux_may_hide_reads(_ descriptor: Int32, _ hasHungUp: Bool) -> Bool {
        Faults.fails(.status) || CLinux.clinux_may_hide_reads(descriptor, hasHungUp)
    }

    func clinux_counts_bytes(_ descriptor: Int32) -> Bool {
        !Faults.fails(.status) && CLinux.clinux_counts_bytes(descriptor)
    }

    // MARK: lstat

    func clinux_file_at(_ path: UnsafePointer<CChar>?) -> clinux_file {
        Faults.fails(.pathStatus) ? clinux_file() : CLinux.clinux_file_at(path)
    }

    // MARK: getsockopt

    func clinux_is_stream_socket(_ descriptor: Int32) -> Int32 {
        Faults.fails(.getOption) ? -1 : CLinux.clinux_is_stream_socket(descriptor)
    }

    func clinux_is_unix_socket(_ descriptor: Int32) -> Int32 {
        Faults.fails(.getOption) ? -1 : CLinux.clinux_is_unix_socket(descriptor)
    }

    func clinux_is_listening(_ descriptor: Int32) -> Int32 {
        Faults.fails(.getOption) ? -1 : CLinux.clinux_is_listening(descriptor)
    }

    // MARK: getpgid

    func clinux_group_of(_ process: Int32) -> Int32 { Faults.fails(.group) ? -1 : CLinux.clinux_group_of(process) }

    // MARK: waitpid

    func clinux_reap(_ process: Int32) -> Int32 { Faults.fails(.reap) ? -1 : CLinux.clinux_reap(process) }

    // MARK: Those that fail in their own way

    func readdir(_ folder: OpaquePointer) -> UnsafeMutablePointer<dirent>? {
        Faults.fails(.readFolder) ? nil : CLinux.readdir(folder)
    }

    func clinux_take_error(_ socket: Int32) -> Int32 {
        Faults.error(of: .getOption) ?? CLinux.clinux_take_error(socket)
    }

    /// It walks through `/proc`.
    func clinux_open_member_of_group(_ group: Int32) -> Int32 {
        Faults.fails(.openFolder) || Faults.fails(.readFolder) ? -2 : CLinux.clinux_open_member_of_group(group)
    }

    func mmap(
        _ address: UnsafeMutableRawPointer?, _ count: Int, _ protection: Int32, _ flags: Int32, _ file: Int32,
        _ offset: off_t
    ) -> UnsafeMutableRawPointer? {
        // MAP_FAILED
        Faults.fails(.map)
            ? UnsafeMutableRawPointer(bitPattern: -1) : CLinux.mmap(address, count, protection, flags, file, offset)
    }

    func clinux_make_thread_key(
        _ key: UnsafeMutablePointer<pthread_key_t>, _ destructor: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    ) -> Int32 {
        Faults.error(of: .makeKey) ?? CLinux.clinux_make_thread_key(key, destructor)
    }

    func pthread_atfork(
        _ before: (@convention(c) () -> Void)?, _ inParent: (@convention(c) () -> Void)?,
        _ inChild: (@convention(c) () -> Void)?
    ) -> Int32 {
        Faults.error(of: .atFork) ?? CLinux.pthread_atfork(before, inParent, inChild)
    }

    func epoll_ctl(
        _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ event: UnsafeMutablePointer<epoll_event>?
    ) -> Int32 {
        let call: Faults.Call =
            operation == EPOLL_CTL_ADD ? .epollAdd : operation == EPOLL_CTL_MOD ? .epollModify : .epollDelete
        return Faults.fails(call) ? -1 : CLinux.epoll_ctl(epoll, operation, descriptor, event)
    }

    /// The kernel arms a timer even if it says that the wall clock was set.
    func timerfd_settime(
        _ timer: Int32, _ flags: Int32, _ new: UnsafePointer<itimerspec>, _ old: UnsafeMutablePointer<itimerspec>?
    ) -> Int32 {
        let fails = Faults.fails(flags & Int32(TFD_TIMER_CANCEL_ON_SET) != 0 ? .timerSetOnWallClock : .timerSet)
        if fails, clinux_errno() != ECANCELED { return -1 }
        let result = Schedule.arm(timer: timer, at: new.pointee) ? 0 : CLinux.timerfd_settime(timer, flags, new, old)
        if fails { clinux_set_errno(ECANCELED) }
        return fails ? -1 : result
    }

    func opendir(_ path: UnsafePointer<CChar>) -> OpaquePointer? {
        Faults.fails(.openFolder) ? nil : CLinux.opendir(path)
    }

    func clinux_resolved_path(_ path: UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>? {
        Faults.fails(.resolve) ? nil : CLinux.clinux_resolved_path(path)
    }

    func clinux_spawn(
        _ process: UnsafeMutablePointer<Int32>?, _ program: UnsafePointer<CChar>?,
        _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?, _ folder: UnsafePointer<CChar>?,
        _ streams: UnsafePointer<Int32>?
    ) -> Int32 {
        Faults.error(of: .spawn)
            ?? CLinux.clinux_spawn(process, program, arguments, environment, folder, streams)
    }

    func clinux_start_thread(
        _ attributes: UnsafePointer<pthread_attr_t>?,
        _ body: (@convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?)?,
        _ argument: UnsafeMutableRawPointer?
    ) -> clinux_started_thread {
        guard let error = Faults.error(of: .createThread) else {
            let started = CLinux.clinux_start_thread(attributes, body, argument)
            Schedule.hasStarted(started.error == 0 ? started.thread : nil)
            return started
        }
        Schedule.hasStarted(nil)
        var started = clinux_started_thread()
        started.error = error
        return started
    }

    func clinux_handle_signal(_ signal: Int32, _ handler: (@convention(c) (Int32) -> Void)?) -> Int32 {
        Faults.fails(.handleSignal) ? -1 : CLinux.clinux_handle_signal(signal, handler)
    }

    /// It is closed even if the call fails, as close(2) says.
    func clinux_close(_ descriptor: Int32) -> Int32 {
        Schedule.willClose(descriptor)
        let result = CLinux.clinux_close(descriptor)
        return Faults.fails(.close) ? -1 : result
    }
#endif
