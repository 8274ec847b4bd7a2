#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Sets of connections, which several threads end.
    let connectionSetPrograms: [Program] = [
        Program("a set of connections: an insertion against an end") { play in play.insertsAgainstAnEnd() },
        Program("a set of connections: the last close against an end") { play in play.closesAgainstAnEnd() },
        Program("a set of connections: an invalidation against bytes") { play in play.leavesBeforeInvalidateReturns() },
        Program("a set of connections: two leave together") { play in play.leaveTogether() },
        Program("a set of connections: an insertion against an invalidation") { play in
            play.insertsAgainstAnInvalidation()
        },
    ]

    extension Play {
        /// The loop finds the connection ready, and invalid.
        fileprivate func leavesBeforeInvalidateReturns() {
            keepsDescriptors()
            thread { [self] in
                let ends = ConnectionEnds()
                let loop = Loop.current
                let connections = Loop.ConnectionSet()
                let events = ConnectionEvents(self, capture())
                let connection = try! Loop.Connection(owning: ends.mine) { events.note($1) }
                loop.add(connection, in: .default)
                connections.insert(connection)
                ends.write()
                let caller = start { [self] in
                    connection.invalidate()
                    require(connections.isEmpty, "The connection is still in the set.")
                }
                _ = loop.run(mode: .default, for: .seconds(1000))
                System.join(caller)
                _ = clinux_close(ends.peers)
            }
        }

        /// A connection is inserted while another thread ends the set, which has one already.
        fileprivate func insertsAgainstAnEnd() {
            keepsDescriptors()
            thread { [self] in
                let pairs = [ConnectionEnds(), ConnectionEnds()]
                let events = [ConnectionEvents(self, capture()), ConnectionEvents(self, capture())]
                let loop = Loop.current
                let connections = Loop.ConnectionSet()
                let made = pairs.indices.map { index in
                    try! Loop.Connection(owning: pairs[index].mine) { events[index].note($1) }
                }
                for connection in made { loop.add(connection, in: .default) }
                require(connections.insert(made[0]), "The first one is not taken.")
                let (ended, captured) = (Shared(0), capture())
                let caller = start {
                    connections.end(within: .seconds(10)) {
                        captured.value += 1
                        ended.value = events.reduce(0) { $0 + $1.closed }
                    }
                }
                let isTaken = connections.insert(made[1])
                let begin = loop.now
                let result = loop.run(mode: .default, for: .seconds(1000))
                System.join(caller)
                let time = begin.duration(to: loop.now)
                require(result == .finished && time < .seconds(12), "It is \(result) after \(time).")
                require(events.allSatisfy { $0.closed == 1 }, "An end was not reported once.")
                require(captured.value == 1, "The end of the set was reported \(captured.value) times.")
                require(ended.value >= (isTaken ? 2 : 1), "The end of the set came before that of its connections.")
                require(connections.isEmpty && !connections.insert(made[1]), "The set takes connections.")
                for pair in pairs { _ = clinux_close(pair.peers) }
            }
        }

        /// The peer of the only connection closes while two threads end the set.
        fileprivate func closesAgainstAnEnd() {
            keepsDescriptors()
            thread { [self] in
                let ends = ConnectionEnds()
                let events = ConnectionEvents(self, capture())
                let loop = Loop.current
                let connections = Loop.ConnectionSet()
                let connection = try! Loop.Connection(owning: ends.mine) { connection, event in
                    events.note(event)
                    if event == .peerFinished { connection.end() }
                }
                loop.add(connection, in: .default)
                connections.insert(connection)
                let captured = capture()
                let callers = (0..<2).map { _ in
                    start {
                        connections.end(within: .seconds(10)) { [self] in
                            captured.value += 1
                            require(events.closed == 1 && connections.isEmpty, "The set has ended too soon.")
                        }
                    }
                }
                _ = clinux_close(ends.peers)
                let result = loop.run(mode: .default, for: .seconds(1000))
                for caller in callers { System.join(caller) }
                require(result == .finished, "The run returned \(result).")
                require(captured.value == 2, "The end was reported \(captured.value) times.")
            }
        }

        /// Two connections leave a set on two threads, while a third one asks for those that are left.
        fileprivate func leaveTogether() {
            keepsDescriptors()
            thread { [self] in
                let pairs = [ConnectionEnds(), ConnectionEnds()]
                let connections = Loop.ConnectionSet()
                let captured = capture()
                let made = pairs.map { try! Loop.Connection(owning: $0.mine) { _, _ in captured.value += 1 } }
                for connection in made { connections.insert(connection) }
                let threads = made.map { connection in start { connection.invalidate() } }
                let left = connections.connections
                require(left.allSatisfy { one in made.contains { $0 === one } }, "The set has another connection.")
                for thread in threads { System.join(thread) }
                require(connections.isEmpty && connections.connections.isEmpty, "A connection is left.")
                for pair in pairs { _ = clinux_close(pair.peers) }
            }
        }

        /// A connection's loop ends, while one thread inserts the connection and another invalidates it.
        fileprivate func insertsAgainstAnInvalidation() {
            keepsDescriptors()
            thread { [self] in
                let ends = ConnectionEnds()
                let connections = Loop.ConnectionSet()
                let captured = capture()
                let connection = try! Loop.Connection(owning: ends.mine) { _, _ in captured.value += 1 }
                let loop = Loop(clock: VirtualClock())
                loop.add(connection, in: .default)
                let threads = [start { connections.insert(connection) }, start { connection.invalidate() }]
                loop.end()
                for thread in threads { System.join(thread) }
                require(connections.isEmpty && connections.connections.isEmpty, "A connection is left.")
                _ = clinux_close(ends.peers)
            }
        }
    }
#endif
