import WeakMemory

// `PortSource` and `EdgeNote`, as in `Inputs/PortSource.swift` and `Loop/EdgeNote.swift`.

extension ProtocolModel {
    /// Two threads send to ports of a loop that only polls, so that nothing but the note tells it of a send. A question
    /// to the kernel may miss a write that it is not ordered after.
    private static func portModel(
        _ name: String, ports: Int, kernel: Order = .relaxed, setsByStore: Bool = false
    ) -> ProtocolModel {
        ProtocolModel(name: name) { orders in
            var program = Program()
            // From the lowest bit: written, the sends of each sender, the number of the round.
            let sends = (0..<ports).map { _ in program.atomic() }
            let (oneSend, oneRound) = (2, 8)
            let counts = (0..<ports).map { _ in program.atomic() }
            let turn = program.atomic()
            let note = program.atomic()
            let data = (0..<2).map { program.plain("what sender \($0) did") }
            for sender in 0..<2 {
                let port = sender % ports
                program.thread { thread in
                    thread.write(data[sender])
                    // Each adds a number of its own, so that the loop knows whose sends it has.
                    let own = oneSend << sender
                    let found = thread.add(sends[port], own, orders["PortSource.send sends.wrappingAdd"])
                    guard found & 1 == 0 else { return }
                    thread.store(turn, 1, orders["PortSource.takeTurn turn.store"])
                    thread.add(counts[port], 1, kernel)
                    if setsByStore { return thread.store(note, 1, .releasing) }
                    thread.exchange(note, 1, orders["EdgeNote.set isSet.exchange"])
                    thread.repeating(from: found + own) { now in
                        guard now / oneRound == found / oneRound else { return .end(0) }
                        let order = orders["PortSource.write sends.weakCompareExchange"]
                        let change = thread.compareExchange(sends[port], now, now | 1, order)
                        return change.exchanged ? .end(0) : .again(change.original)
                    }
                }
            }
            program.thread { thread in
                func handle(_ port: Int, _ handled: Int) -> Int {
                    let number = thread.load(turn, orders["PortSource.readyTurn turn.load"])
                    thread.expect(kernel == .relaxed || number == 1, "the number of the event is missing")
                    let taken = thread.repeating(
                        from: thread.load(sends[port], orders["PortSource.takeSends sends.load"])
                    ) { found in
                        guard found % oneRound / oneSend > 0 else { return .end(0) }
                        let site: StaticString = "PortSource.takeSends sends.weakCompareExchange"
                        let change = thread.compareExchange(
                            sends[port], found, (found / oneRound + 1) * oneRound, orders[site],
                            failure: orders.failure(site))
                        return change.exchanged ? .end(found % oneRound / oneSend) : .again(change.original)
                    }
                    for sender in 0..<2 where taken & 1 << sender != 0 { thread.read(data[sender]) }
                    return handled | taken
                }
                func poll(_ handled: Int, isSet: Int) -> Int {
                    thread.call {
                        guard isSet == 1 && thread.exchange(note, 0, orders["EdgeNote.take isSet.exchange"]) == 1
                        else { return handled }
                        var all = handled
                        for port in 0..<ports where thread.load(counts[port], .relaxed) > 0 {
                            thread.exchange(counts[port], 0, kernel)
                            all = handle(port, all)
                        }
                        return all
                    }
                }
                var handled = 0
                for _ in 0..<2 {
                    handled = poll(handled, isSet: thread.load(note, orders["EdgeNote.take isSet.load"]))
                }
                thread.awaitOthers()
                handled = poll(handled, isSet: thread.loadLast(note))
                thread.expect(handled == 3, "a send is missed")
            }
            return program
        }
    }

    /// The first sender nudges the loop without the lock, and says so. One that relies on it comes after the nudge.
    private static func messagePortModel(_ name: String, _ store: StaticString) -> ProtocolModel {
        ProtocolModel(name: name) { orders in
            var program = Program()
            let (lock, announcedTurn, word) = (program.atomic(), program.atomic(), program.atomic())
            program.thread { thread in
                thread.lock(lock)
                thread.unlock(lock)
                thread.add(word, 1, .acquiringAndReleasing)
                thread.store(announcedTurn, 1, orders[store])
            }
            program.thread { thread in
                thread.lock(lock)
                let order = orders["MessagePort.announceIfNobodyHas announcedTurn.load"]
                let isAnnounced = thread.load(announcedTurn, order) == 1
                thread.unlock(lock)
                guard isAnnounced else { return _ = thread.add(word, 1, .acquiringAndReleasing) }
                thread.expect(thread.load(word, .relaxed) == 1, "a sender relies on a nudge that is still to come")
            }
            return program
        }
    }

    /// A mistake: a store overwrites the release of the other sender.
    static let noteSetByStore = portModel(
        "two threads set a note by a store", ports: 2, kernel: .acquiringAndReleasing, setsByStore: true)

    static let portModels = [
        portModel("two threads send to a port", ports: 1),
        // A loop that finds an eventfd written sees the send that was before: it looks without a lock of its own.
        portModel("two threads send to two ports", ports: 2, kernel: .acquiringAndReleasing),
        // The number of an event has no order of its own. The kernel's locks order it.
        portModel("two threads send to a port, and the kernel orders", ports: 1, kernel: .acquiringAndReleasing),
        messagePortModel("two threads send to a message port", "MessagePort.nudgeFirstMode announcedTurn.store"),
        messagePortModel("two threads send to a message port in two modes", "MessagePort.announce announcedTurn.store"),
        ProtocolModel(name: "two threads signal a source") { orders in
            var program = Program()
            let lock = program.atomic()
            let signalTime = program.atomic()
            let data = (0..<2).map { _ in program.atomic() }
            for signaller in 0..<2 {
                program.thread { thread in
                    thread.store(data[signaller], 1, .relaxed)
                    thread.lock(lock)
                    if thread.load(signalTime, orders["Source0.pendingSignal signalTime.load"]) == 0 {
                        thread.store(signalTime, 1, orders["Source0.noteSignal signalTime.store"])
                    }
                    thread.unlock(lock)
                }
            }
            program.thread { thread in
                func perform(_ seen: Int) -> Int {
                    thread.call {
                        let order = orders["Source0.takeSignal signalTime.exchange"]
                        guard thread.exchange(signalTime, 0, order) != 0 else { return seen }
                        // It reads the handler.
                        thread.lock(lock)
                        thread.unlock(lock)
                        var all = seen
                        for signaller in 0..<2 where thread.load(data[signaller], .relaxed) == 1 {
                            all |= 1 << signaller
                        }
                        return all
                    }
                }
                let first = perform(0)
                thread.awaitOthers()
                let seen = thread.loadLast(signalTime) == 0 ? first : perform(first)
                thread.expect(seen == 3, "a handler does not see what a signalling thread did")
            }
            return program
        },
    ]
}
