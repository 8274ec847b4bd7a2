extension Loop {
    /// A version-1 source: listens at an address, and calls its handler with the connections that it accepts. Any
    /// thread may use it; the handler runs on the loop's thread.
    ///
    /// ```swift
    /// let listener = try Loop.Listener(.tcp(.loopback, port: 7007)) { _, connection in
    ///     connection.setHandler { connection, event in
    ///         switch event {
    ///         case .received(let bytes): connection.send(bytes)  // an echo
    ///         case .peerFinished: connection.end()
    ///         case .connected, .drained, .closed: break
    ///         }
    ///     }
    ///     Loop.current.add(connection, in: .common)
    /// }
    /// Loop.current.add(listener, in: .common)
    /// ```
    ///
    /// It listens from the moment it is made: connections wait in the kernel until the loop accepts them, 64 at most in
    /// each pass. While the listener has no handler, or ``isAccepting`` is false, they wait as well.
    ///
    /// - *A connection* that the handler does not keep is closed. Refuse one by ``Loop/Item/invalidate()``; one that is
    ///   only dropped is reported as ``Loop/Mistake/neverAdded(item:)``.
    /// - *Without a descriptor or memory,* it accepts nothing for a second, and then tries again. This is reported as
    ///   ``Loop/Mistake/pausedListener(listener:error:)``, once for each listener.
    /// - *The end:* invalidated or released, it closes its socket, which resets the connections that wait. ``end()``
    ///   accepts them first, unless ``isAccepting`` is false, as far as there are descriptors.
    ///
    /// **A Unix socket** is a file. Only who may write to it can connect, by the `umask` at initialization. The
    /// listener removes it when it is ended, invalidated or released, if it is still its own. A program that exits with
    /// a listener leaves the file: end it first. A file that was left behind, at which nothing listens, is replaced: of
    /// two processes that do so at the same moment, one may lose its file to the other.
    ///
    /// **On several threads:** with `sharesPort`, each loop has a listener for the same port, and the kernel spreads
    /// the connections among them: <doc:TerminalsFilesAndSockets#Connections-on-several-processors>.
    ///
    /// It can be in several modes of one loop, and keeps runs in them going. One socket on several loops would spread
    /// nothing: ``FileDescriptorSource/Interest/exclusive``.
    ///
    /// CF: a `CFSocket` with `kCFSocketAcceptCallBack`. Node.js: `net.Server`; libevent: `evconnlistener`.
    public final class Listener: Item, Source1, @unchecked Sendable {
        /// The type of the handler.
        public typealias Handler = @Sendable (_ listener: Listener, _ connection: Connection) -> Void

        /// The address, with the port that the kernel has chosen if none was asked for. Nil of a socket of another
        /// family than those of ``SocketAddress``, and if the kernel lacks the memory to tell it.
        public let address: SocketAddress?

        /// The port that it listens at; 0 for a Unix socket.
        public var port: UInt16 { address?.port ?? 0 }

        /// The largest number of connections that one pass accepts: 64.
        public static var connectionsPerPass: Int { 64 }

        /// How many connections `end()` accepts at most. The kernel lets one more wait than the backlog.
        let longestQueue: Int

        /// - Parameter backlog: Nil if another program has chosen it; negative for as many as the kernel allows.
        private static func longestQueue(_ backlog: Int?) -> Int {
            let (kernelsUsual, kernelsMost) = (4096, 65_535)
            guard let backlog, backlog >= 0 else { return kernelsMost + 1 }
            return min(max(kernelsUsual, backlog), kernelsMost) + 1
        }

        /// The number of the socket's descriptor, for its options. Once the listener is invalid, another file may have
        /// it.
        ///
        /// Workers that are forked accept from the same socket, each by a listener of its own: in the child,
        /// `Loop.Listener(owning: dup(listener.descriptor))`.
        public let descriptor: Int32

        /// The file of a Unix socket that the listener has bound.
        private let socketFile: System.SocketFile?

        // Guarded by the item's lock, so exclusivity is unchecked.

        /// Nil once the listener is invalid. The thread that accepts retains it, too.
        @exclusivity(unchecked) private var socket: OwnedDescriptor?

        /// Nil before it is set, and once the listener is invalid.
        @exclusivity(unchecked) private var handler: Handler?

        @exclusivity(unchecked) private var accepts = true

        /// Whether `end()` was called. The handler may call it for each connection.
        @exclusivity(unchecked) private var isEnding = false

        /// Ends a pause for lack of descriptors. It follows the listener into its modes. Nil if there is none.
        @exclusivity(unchecked) private var pause: Timer?
        @exclusivity(unchecked) private var hasReportedPause = false

        /// See `sourceSlot`. Guarded by the lock of the loop.
        @exclusivity(unchecked) private var slot = -1

        // MARK: Making one

        /// Makes a listener, and begins to listen.
        ///
        /// A TCP port can be bound again at once after a server has ended (`SO_REUSEADDR`), but not while another
        /// socket listens there.
        ///
        /// - Parameters:
        ///   - address: Where to listen. ``SocketAddress/Host/loopback`` is reached from this machine only.
        ///   - backlog: How many connections may wait in the kernel, which limits it by `net.core.somaxconn`.
        ///   - sharesPort: Whether other sockets of the same user that have this option, too, may listen at the port
        ///     (`SO_REUSEPORT`). Without effect for a Unix socket.
        ///   - label: What diagnostics call the listener; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the listener, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with each connection, which it gives a handler, and adds to a loop.
        ///     Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``, which names the call and the address:
        ///   - `EADDRINUSE` if another socket listens there, or a file that is no socket is at the path.
        ///   - `EADDRNOTAVAIL` if the host is none of this machine.
        ///   - `EACCES` if the user may not take the port, or make the file; `ENOENT` if its folder is missing.
        ///   - `ENAMETOOLONG` or `EINVAL` for a path that cannot be one.
        ///   - `EMFILE` if the process has no descriptor left.
        public convenience init(
            _ address: SocketAddress, backlog: Int32 = 4096, sharesPort: Bool = false, label: String? = nil,
            file: StaticString = #fileID, line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            let wanted = try address.ofSystem("bind")
            let socket = try System.listen(at: wanted, "\(address)", backlog: backlog, sharesPort: sharesPort)
            self.init(socket, Int(backlog), System.socketFile(of: wanted), Place(file, line), label, handler)
        }

        /// Makes a listener of a socket that listens already, such as one that systemd has passed on. The listener
        /// closes it, and removes no file.
        ///
        /// - Parameters:
        ///   - descriptor: Becomes non-blocking and closed on exec. Do not close it elsewhere.
        ///   - label: What diagnostics call the listener; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the listener, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with each connection. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``; the descriptor stays open then, and is the caller's: `EBADF` if it is not open,
        ///   `EINVAL` if it does not listen.
        public convenience init(
            owning descriptor: Int32, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: Handler? = nil
        ) throws(LoopError) {
            try System.adoptListener(descriptor)
            self.init(descriptor, nil, nil, Place(file, line), label, handler)
        }

        private init(
            _ number: Descriptor, _ backlog: Int?, _ socketFile: System.SocketFile?, _ place: Place, _ label: String?,
            _ handler: Handler?
        ) {
            descriptor = number
            longestQueue = Self.longestQueue(backlog)
            self.socketFile = socketFile
            socket = OwnedDescriptor(number)
            address = SocketAddress(System.ownAddress(of: number))
            self.handler = handler
            super.init(place, label, isNotifiedOfModes: true)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next connection on. Until there is a handler, connections wait in the
        /// kernel. ``Loop/Item`` has the rules.
        ///
        /// - Parameter handler: Called on the loop's thread with each connection.
        /// - Returns: Whether the listener is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        deinit {
            pause?.invalidate()
            if socket != nil, let socketFile { System.remove(socketFile) }
        }

        // MARK: Accepting

        /// Whether the listener accepts connections; initially true. While it is false, they wait in the kernel. From
        /// any thread.
        public var isAccepting: Bool {
            get { itemLock.withLock { accepts } }
            set {
                let hasChanged = itemLock.withLock { exchange(&accepts, with: newValue) != newValue }
                if hasChanged { watchesChanged() }
            }
        }

        /// Accepts the connections that wait, calls the handler with each, and invalidates the listener. A second call
        /// does nothing.
        ///
        /// Closing the socket at once would reset them, though their peers may have sent something. Two kinds of
        /// connections are reset nevertheless:
        ///
        /// - *While* ``isAccepting`` *is false,* as in a server that has as many as it takes, or without a handler:
        ///   those that wait.
        /// - *Without a descriptor or memory:* those that are left when the kernel refuses one. This is reported as
        ///   ``Loop/Mistake/resetConnections(listener:error:)``. A handler that closes each connection takes only one
        ///   descriptor for all.
        ///
        /// On the loop's thread, since it calls the handler.
        public func end() {
            guard itemLock.withLock({ !exchange(&isEnding, with: true) }) else { return }
            let refusal = acceptAll()
            invalidate()
            if let refusal { Mistakes.shared.report(.resetConnections(listener: name, error: refusal)) }
        }

        /// Accepts all that wait. The listener's loop is current in the handler, outside of runs, too.
        ///
        /// - Returns: Why the kernel has refused those that still wait.
        private func acceptAll() -> LoopError? {
            var refusal: LoopError?
            if let loop = firstPlace?.loop, loop.isOnOwnThread {
                _ = ThreadLoops.current.running(loop) {
                    accept(atMost: longestQueue, evenPaused: true, refusal: &refusal)
                }
            } else {
                _ = accept(atMost: longestQueue, evenPaused: true, refusal: &refusal)
            }
            // Without a descriptor, the kernel refuses a connection although none waits.
            let isLeft = itemLock.withLock { socket.map { System.mayBeReadable($0.number) } ?? false }
            return isLeft ? refusal : nil
        }

        /// Accepts connections, and calls the handler with each. Returns how many.
        ///
        /// - Parameters:
        ///   - mode: That of the pass. If the handler removes the listener from it, the rest waits: another loop may
        ///     have the listener then, and call the handler on its own thread.
        ///   - refusal: The error if the kernel refuses a connection.
        private func accept(
            atMost limit: Int, in mode: ModeState? = nil, evenPaused: Bool = false, refusal: inout LoopError?
        ) -> Int {
            var count = 0
            for _ in 0..<limit {
                if count > 0, let mode, !isIn(mode) { break }
                let (socket, handler, mayAccept) = itemLock.withLock {
                    (self.socket, self.handler, accepts && (evenPaused || pause == nil))
                }
                guard let socket, let handler, isValid, mayAccept else { break }
                switch System.accept(from: socket.number) {
                case .connection(let descriptor):
                    count += 1
                    requireActor(on: .current)
                    handler(self, Connection(accepted: OwnedDescriptor(descriptor), place))
                case .failedConnection: break
                case .nothing: return count
                case .refused(let error):
                    refusal = error
                    return count
                }
            }
            return count
        }

        // MARK: Pausing

        /// Waits for a second: the listener stays ready, and the loop would spin.
        private func beginPause(_ error: LoopError) {
            let timer = Timer(after: .seconds(1), label: "pause of the \(name)") { [weak self] _ in self?.endPause() }
            let isFirst = itemLock.withLock {
                pause = timer
                return !exchange(&hasReportedPause, with: true)
            }
            watchesChanged()
            // The listener itself keeps runs going, unless it is of the background.
            timer.keepsRunsGoing = false
            takeAlong(timer, to: currentModes)
            // It may have become invalid meanwhile.
            if !isValid { timer.invalidate() }
            if isFirst { Mistakes.shared.report(.pausedListener(listener: name, error: error)) }
        }

        private func endPause() {
            releaseUnlocked { pause.take() }
            watchesChanged()
        }

        override func didJoin(_ mode: Mode, of loop: Loop) {
            guard let timer = itemLock.withLock({ pause }), timer.isValid else { return }
            loop.insert(timer, in: mode)
        }

        override func didLeave(_ mode: Mode, of loop: Loop) {
            guard let timer = itemLock.withLock({ pause }) else { return }
            leaveBehind(timer, in: mode, of: loop)
        }

        // MARK: Source1

        var watches: [Watch] {
            let isWatched = itemLock.withLock { accepts && pause == nil }
            return [Watch(descriptor: descriptor, events: isWatched ? .read : nil, mayBeMissing: true)]
        }

        /// An earlier call, or one in a nested run, may have accepted all; or another process that has the socket.
        func workBehind(_ report: Report) -> PollEvents? {
            // With the lock held while the kernel is asked: another thread may close the socket.
            itemLock.withLock {
                guard accepts, pause == nil, let socket else { return nil }
                return report.age == .fresh || System.isReadable(socket.number) ? report.events : nil
            }
        }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard holds(report) else { return 0 }
            var refusal: LoopError?
            let count = accept(atMost: Self.connectionsPerPass, in: mode, refusal: &refusal)
            if let refusal { beginPause(refusal) }
            return count > 0 ? 1 : 0
        }

        // MARK: Item

        override var kind: String { "listener at \(address.map { "\($0)" } ?? "descriptor \(descriptor)")" }

        override var status: ItemStatus {
            let (isOff, isPaused) = itemLock.withLock { (!accepts, pause != nil) }
            if isOff { return .disarmed("accepts nothing") }
            return .waits(isPaused ? "pauses for a second" : "accepts connections")
        }

        override var sourceSlot: Int {
            get { slot }
            set { slot = newValue }
        }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }

        override func releaseHandlers() {
            // Before the socket is closed: until then another process finds it in use.
            if let socketFile { System.remove(socketFile) }
            releaseUnlocked { handler.take() }
            releaseUnlocked { socket.take() }
            let timer = itemLock.withLock { pause.take() }
            timer?.invalidate()
        }
    }
}
