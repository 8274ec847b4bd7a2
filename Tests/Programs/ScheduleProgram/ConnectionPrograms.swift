#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Connections and listeners: peers, senders and the end by several threads.
    let connectionPrograms: [Program] = [
        Program("a connection: a hang-up against two sends") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                Loop.current.add(connection, in: .default)
                let sender = start {
                    _ = connection.send([1])
                    _ = connection.send([2])
                }
                let peer = start { _ = clinux_close(ends.peers) }
                Loop.current.run(mode: .default, for: .milliseconds(10))
                connection.end()
                let result = Loop.current.run(mode: .default, for: .seconds(10))
                System.join(sender)
                System.join(peer)
                play.require(result == .finished, "The run returned \(result).")
                play.require(events.closed == 1, "The end was reported \(events.closed) times.")
                play.require(!connection.send([3]), "It accepts bytes after its end.")
            }
        },
        Program("a connection: two senders and an end") { play in
            play.sends { connection, accepted in
                [
                    start {
                        if connection.send([1]) { accepted.value += 1 }
                        connection.finishSending()
                    },
                    start { if connection.send([2]) { accepted.value += 1 } },
                ]
            }
        },
        Program("a connection: two senders that fill the kernel's buffer", bound: 1) { play in
            play.sends(small: true) { connection, accepted in
                let many = [UInt8](repeating: 7, count: 20_000)
                return (0..<2).map { number in
                    start {
                        if connection.send(many) { accepted.value += many.count }
                        if number == 0 { connection.finishSending() }
                    }
                }
            }
        },
        Program("a connection: two periods") { play in play.endsAfterTheShorterPeriod() },
        Program("a connection: two shorter periods") { play in
            play.endsAfterTheShorterPeriod(before: .seconds(500))
        },
        Program("a connection: a period against an invalidation") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                let caller = start { connection.end(within: .seconds(100)) }
                connection.invalidate()
                System.join(caller)
                let result = loop.run(mode: .default, for: .zero)
                play.require(result == .finished, "A timer is left.")
                play.require(events.closed == 0, "The end was reported.")
                _ = clinux_close(ends.peers)
            }
        },
        Program("a connection: a period against a hang-up") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                let caller = start { connection.end(within: .seconds(100)) }
                let peer = start { _ = clinux_close(ends.peers) }
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(caller)
                System.join(peer)
                let time = begin.duration(to: loop.now)
                play.require(result == .finished && time < .seconds(1), "It is \(result) after \(time).")
                play.require(events.closed == 1, "The end was reported \(events.closed) times.")
            }
        },
        Program("a connection: an end that reads first against a peer that sends on", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { connection, event in
                    let isFirst = events.bytes == 0
                    events.note(event)
                    if case .received = event, isFirst { play.require(connection.send([7]), "It takes no answer.") }
                }
                // Only the end lets the bytes be read.
                connection.isReceiving = false
                loop.add(connection, in: .default)
                ends.write()
                let caller = start { connection.end(within: .seconds(100), readingFirst: true) }
                let peer = start {
                    ends.write()
                    _ = clinux_finish_sending(ends.peers)
                }
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in [caller, peer] { System.join(thread) }
                let time = begin.duration(to: loop.now)
                play.require(result == .finished && time < .seconds(1), "It is \(result) after \(time).")
                play.require(events.bytes > 0, "What had arrived is lost.")
                play.require(events.closed == 1, "The end was reported \(events.closed) times.")
                _ = clinux_close(ends.peers)
            }
        },
        Program("a connection: its last bytes against a sender that goes on") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                let accepted = Shared(0)
                let peer = start { for _ in 0..<3 where ends.write() { accepted.value += 1 } }
                connection.finishSending(within: .zero)
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(peer)
                play.require(result == .finished, "The run returned \(result).")
                play.require(events.bytes == accepted.value, "\(events.bytes) of \(accepted.value) bytes came.")
                play.require(events.closed == 1, "The end was reported \(events.closed) times.")
                _ = clinux_close(ends.peers)
            }
        },
        Program("a connection: bytes against an invalidation") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let events = ConnectionEvents(play, play.capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                let peer = start {
                    ends.write()
                    _ = clinux_close(ends.peers)
                }
                let other = start {
                    connection.invalidate()
                    loop.wakeUp()
                    let new = open("/dev/null", O_RDONLY)
                    _ = clinux_is_open(new)
                    play.require(clinux_is_open(new), "A descriptor is closed twice.")
                    close(new)
                }
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(peer)
                System.join(other)
                play.require(result == .finished, "The run returned \(result).")
                play.require(events.closed <= 1, "The end was reported \(events.closed) times.")
            }
        },
        Program("a connection: bytes against a handler") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let loop = Loop.current
                let events = ConnectionEvents(play, play.capture())
                let connection = try! Loop.Connection(owning: ends.mine)
                let threads = [
                    start {
                        ends.write()
                        _ = clinux_close(ends.peers)
                    },
                    start {
                        connection.setHandler { connection, event in
                            events.note(event)
                            if event == .peerFinished { connection.end() }
                        }
                    },
                ]
                loop.add(connection, in: .default)
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished, "The run returned \(result).")
                play.require(events.bytes == 1 && events.closed == 1, "\(events.bytes) bytes, \(events.closed) ends.")
            }
        },
        Program("a connection: bytes against a pause of receiving") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let loop = Loop.current
                let events = ConnectionEvents(play, play.capture())
                let connection = try! Loop.Connection(owning: ends.mine) { connection, event in
                    events.note(event)
                    if event == .peerFinished { connection.end() }
                }
                loop.add(connection, in: .default)
                let threads = [
                    start {
                        ends.write()
                        _ = clinux_close(ends.peers)
                    },
                    start {
                        connection.isReceiving = false
                        connection.isReceiving = true
                    },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished, "The run returned \(result).")
                play.require(events.bytes == 1 && events.closed == 1, "\(events.bytes) bytes, \(events.closed) ends.")
            }
        },
        Program("a connection: a limit for an idle peer against bytes and another limit", bound: 2) { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let loop = Loop.current
                let events = ConnectionEvents(play, play.capture())
                let connection = try! Loop.Connection(owning: ends.mine) { _, event in
                    events.note(event)
                    if case .closed = event { loop.stop() }
                }
                connection.idleLimit = .seconds(100)
                loop.add(connection, in: .default)
                // Without an item the run would end while the connection is removed.
                let keeper = Loop.Timer(after: .seconds(2000)) { _ in }
                loop.add(keeper, in: .default)
                let threads = [
                    start { ends.write() },
                    start {
                        loop.remove(connection)
                        loop.add(connection, in: .default)
                    },
                    start { connection.idleLimit = .seconds(10) },
                ]
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                keeper.invalidate()
                for thread in threads { System.join(thread) }
                let time = begin.duration(to: loop.now)
                play.require(time < .seconds(12), "It is \(result) after \(time).")
                play.require(events.bytes == 1 && events.closed == 1, "\(events.bytes) bytes, \(events.closed) ends.")
                _ = clinux_close(ends.peers)
            }
        },
        Program("a connection: a handler is set against a hang-up") { play in
            play.keepsDescriptors()
            play.thread {
                let ends = ConnectionEnds()
                let connection = try! Loop.Connection(owning: ends.mine)
                _ = clinux_close(ends.peers)
                play.reports(connection) { handler in
                    connection.setHandler { connection, event in
                        if case .peerFinished = event { connection.end() }
                        if case .closed = event { handler() }
                    }
                }
            }
        },
        Program("a connection: a report behind another one against an invalidation") { play in
            play.reportsBehindAnother { path, loop in
                let connection = try! Loop.Connection(connectingTo: .unix(path)) { connection, _ in
                    connection.invalidate()
                }
                loop.add(connection, in: .default)
                return connection
            }
        },
        Program("a listener: a report behind another one against an invalidation") { play in
            play.reportsBehindAnother { path, loop in
                let listener = try! Loop.Listener(.unix(path + "-too")) { listener, connection in
                    connection.invalidate()
                    listener.invalidate()
                }
                loop.add(listener, in: .default)
                try! Loop.Connection(connectingTo: .unix(path + "-too")) { _, _ in }.invalidate()
                return listener
            }
        },
        Program("a listener: a connection against an invalidation") { play in
            play.listens { listener in
                let loop = listener.currentModes.first?.loop
                listener.invalidate()
                loop?.wakeUp()
            }
        },
        Program("a listener: a connection against a pause of accepting") { play in
            play.listens(isAccepted: true) { listener in
                listener.isAccepting = false
                listener.isAccepting = true
            }
        },
        Program("a listener: a connection against a handler") { play in
            play.listens(isAccepted: true, hasHandler: false) { _ in }
        },
        Program("a listener: a connection against a move to another mode") { play in
            play.listens(isAccepted: true) { listener in
                guard let loop = listener.currentModes.first?.loop else { return }
                loop.add(listener, in: "other")
                loop.remove(listener, in: .default)
                loop.add(listener, in: .default)
            }
        },
    ]

    /// A pair of sockets.
    final class ConnectionEnds: Sendable {
        let mine: Int32
        let peers: Int32

        init(small: Bool = false) {
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { fatalError("no socket") }
            (mine, peers) = (ends[0], ends[1])
            guard small else { return }
            var size: Int32 = 4096
            for end in ends { setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
        }

        /// Returns whether the kernel accepts the byte.
        @discardableResult
        func write() -> Bool { clinux_write_quietly(peers, [7], 1) == 1 }
    }

    /// What a connection reports: nothing after its end.
    final class ConnectionEvents: @unchecked Sendable {
        private let play: Play
        private let captured: Shared<Int>
        private(set) var closed = 0
        private(set) var bytes = 0

        init(_ play: Play, _ captured: Shared<Int>) { (self.play, self.captured) = (play, captured) }

        func note(_ event: Loop.Connection.Event) {
            play.require(closed == 0, "\(event) comes after the end.")
            switch event {
            case .closed: closed += 1
            case .received(let received): bytes += received.count
            case .connected, .peerFinished, .drained: break
            }
        }
    }

    extension Play {
        /// Two threads end a connection with different periods, perhaps after an end with a longer one.
        fileprivate func endsAfterTheShorterPeriod(before earlier: Duration? = nil) {
            keepsDescriptors()
            thread { [self] in
                let ends = ConnectionEnds()
                let events = ConnectionEvents(self, capture())
                let loop = Loop.current
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                if let earlier { connection.end(within: earlier) }
                let begin = loop.now
                let callers = [100, 10].map { period in
                    start { self.require(connection.end(within: .seconds(period)), "It is in no loop.") }
                }
                let result = loop.run(mode: .default, for: .seconds(1000))
                for caller in callers { System.join(caller) }
                let time = begin.duration(to: loop.now)
                require(result == .finished && time < .seconds(12), "It is \(result) after \(time).")
                require(events.closed == 1, "The end was reported \(events.closed) times.")
                _ = clinux_close(ends.peers)
            }
        }

        /// One answer of the kernel lists a descriptor and, behind it, a ready item, which another thread invalidates.
        ///
        /// - Parameter add: Makes the item, ready, and adds it to the loop. Something listens at the path.
        fileprivate func reportsBehindAnother(
            _ add: @escaping @Sendable (_ path: String, _ loop: Loop) -> Loop.Item
        ) {
            keepsDescriptors()
            thread { [self] in
                let loop = Loop.current
                let path = "\0scheduled-\(getpid())"
                let listener = try! Loop.Listener(.unix(path)) { _, _ in }
                let ends = ConnectionEnds()
                let source = try! Loop.FileDescriptorSource(owning: ends.mine) { source, _ in source.invalidate() }
                loop.add(source, in: .default)
                ends.write()
                let item = add(path, loop)
                let other = start {
                    item.invalidate()
                    loop.wakeUp()
                }
                // Without a limit, so that one pass serves both.
                let result = loop.run(mode: .default, for: .seconds(Int64.max))
                System.join(other)
                require(result == .finished, "The run returned \(result).")
                listener.invalidate()
                _ = clinux_close(ends.peers)
            }
        }

        /// A peer connects while another thread does something to the listener.
        fileprivate func listens(
            isAccepted: Bool = false, hasHandler: Bool = true, _ act: @escaping @Sendable (Loop.Listener) -> Void
        ) {
            keepsDescriptors()
            thread { [self] in
                let loop = Loop.current
                let captured = capture()
                let path = "\0scheduled-\(getpid())"
                let handler: Loop.Listener.Handler = { listener, connection in
                    captured.value += 1
                    connection.invalidate()
                    listener.invalidate()
                }
                let listener = try! Loop.Listener(.unix(path), handler: hasHandler ? handler : nil)
                loop.add(listener, in: .default)
                let threads = [
                    start {
                        let peer = try? Loop.Connection(connectingTo: .unix(path)) { _, _ in }
                        peer?.invalidate()
                    },
                    start { if hasHandler { act(listener) } else { listener.setHandler(handler) } },
                ]
                var result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                if listener.isValid { result = loop.run(mode: .default, for: .seconds(1000)) }
                require(!listener.isValid, "The run returned \(result).")
                require(captured.value <= 1 && (!isAccepted || captured.value == 1), "\(captured.value) are accepted.")
            }
        }
    }

    extension Play {
        /// Threads send by a connection, and one finishes. The peer gets what was accepted, and ends.
        ///
        /// - Parameter begin: Starts the senders, which count the bytes that were accepted.
        fileprivate func sends(
            small: Bool = false,
            _ begin: @escaping @Sendable (_ connection: Loop.Connection, _ accepted: Shared<Int>) -> [CThread]
        ) {
            keepsDescriptors()
            thread { [self] in
                let ends = ConnectionEnds(small: small)
                let loop = Loop.current
                let (events, others) = (ConnectionEvents(self, capture()), ConnectionEvents(self, capture()))
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                let peer = try! Loop.Connection(owning: ends.peers) {
                    others.note($1)
                    if $1 == .peerFinished { $0.end() }
                }
                loop.add(connection, in: .default)
                loop.add(peer, in: .default)
                let accepted = Shared(0)
                let senders = begin(connection, accepted)
                let result = loop.run(mode: .default, for: .seconds(10))
                for sender in senders { System.join(sender) }
                require(result == .finished, "The run returned \(result).")
                require(others.bytes == accepted.value, "\(others.bytes) of \(accepted.value) bytes came.")
                require(events.closed == 1 && others.closed == 1, "An end was not reported once.")
            }
        }
    }
#endif
