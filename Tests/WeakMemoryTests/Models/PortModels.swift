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
            let unhandled = (0..<ports).map { _ in program.atomic() }
            let counts = (0..<ports).map { _ in program.atomic() }
            let turn = program.atomic()
            let note = program.atomic()
            let data = (0..<2).map { program.plain("what sender \($0) did") }
            for sender in 0..<2 {
                let port = sender % ports
                program.thread { thread in
                    thread.write(data[sender])
                    // Each adds a number of its own, so that the loop knows whose sends it has.
                    let order = orders["PortSource.send unhandled.wrappingAdd"]
                    guard thread.add(unhandled[port], 1 << sender, order) == 0 else { return }
                    thread.store(turn, 1, orders["PortSource.takeTurn turn.store"])
                    thread.add(counts[port], 1, kernel)
                    if setsByStore { return thread.store(note, 1, .releasing) }
                    thread.exchange(note, 1, orders["EdgeNote.set isSet.exchange"])
                }
            }
            program.thread { thread in
                func handle(_ port: Int, _ handled: Int) -> Int {
                    let number = thread.load(turn, orders["PortSource.readyTurn turn.load"])
                    thread.expect(kernel == .relaxed || number == 1, "the number of the event is missing")
                    let sends = thread.exchange(unhandled[port], 0, orders["PortSource.perform unhandled.exchange"])
                    for sender in 0..<2 where sends & 1 << sender != 0 { thread.read(data[sender]) }
                    return handled | sends
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

    /// A mistake: a store overwrites the release of the other sender.
    static let noteSetByStore = portModel("two threads set a note by a store", ports: 2, setsByStore: true)

    static let portModels = [
        portModel("two threads send to a port", ports: 1),
        portModel("two threads send to two ports", ports: 2),
        // The number of an event has no order of its own. The kernel's locks order it.
        portModel("two threads send to a port, and the kernel orders", ports: 1, kernel: .acquiringAndReleasing),
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
