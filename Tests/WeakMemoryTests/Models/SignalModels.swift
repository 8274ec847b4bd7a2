import WeakMemory

// The C protocols between signal handlers and threads: `SignalListening.h`, and the backtraces of `CLinux.h`.

extension ProtocolModel {
    static let signalModels = [signalModel(removesFirst: true), signalModel(removesFirst: false), pending, backtraces]

    /// A handler walks a list of two listeners, of which another thread adds one and removes and frees one.
    private static func signalModel(removesFirst: Bool) -> ProtocolModel {
        ProtocolModel(name: "the \(removesFirst ? "first" : "second") listener of a signal is removed") { orders in
            var program = Program()
            // The list of the signal, and the next one of each listener: 1 or 2, or 0 at the end.
            let list = program.atomic(1)
            let next = (0...2).map { _ in program.atomic() }
            let inside = program.atomic()
            let listeners = (0...2).map { program.plain("listener \($0)") }
            program.thread { thread in
                thread.add(inside, 1, orders["SignalListening.clinux_hear_signal inside.fetch_add"])
                let first = thread.load(list, orders["SignalListening.clinux_hear_signal listeners.load"])
                thread.repeating(from: first) { listener in
                    guard listener > 0 else { return .end(0) }
                    thread.read(listeners[listener])
                    return .again(
                        thread.load(next[listener], orders["SignalListening.clinux_hear_signal next.load"]))
                }
                thread.add(inside, -1, orders["SignalListening.clinux_hear_signal inside.fetch_sub"])
            }
            program.thread { thread in
                // Adds the second one in front of the first.
                thread.write(listeners[2])
                thread.store(next[2], 1, .relaxed)
                thread.store(list, 2, orders["SignalListening.clinux_add_signal_listener listeners.store"])
                // `link` is that of the list, or of the listener before.
                let order = orders["SignalListening.clinux_remove_signal_listener link.store"]
                if removesFirst { thread.store(list, 1, order) } else { thread.store(next[2], 0, order) }
                let count = thread.load(inside, orders["SignalListening.clinux_is_hearing_signals inside.load"])
                if count == 0 { thread.write(listeners[removesFirst ? 2 : 1]) }
            }
            return program
        }
    }

    /// An ordinary signal comes again while its arrival waits or is taken: it is written, or counted before the loop
    /// handles the first, which then sees what was done before the second.
    private static let pending = ProtocolModel(name: "a signal comes again while its arrival is taken") { orders in
        var program = Program()
        // One has arrived. The kernel's lock orders the accesses to the pipe.
        let pending = program.atomic(1)
        let pipe = program.atomic(1)
        let done = program.plain("what was done before the second signal")
        program.thread { thread in
            thread.write(done)
            let old = thread.add(pending, 1, orders["SignalListening.clinux_hear_signal pending.fetch_add"])
            if old == 0 { thread.add(pipe, 1, .acquiringAndReleasing) }
        }
        program.thread { thread in
            guard thread.exchange(pipe, 0, .acquiringAndReleasing) > 0 else { return }
            let count = thread.exchange(
                pending, 0, orders["SignalListening.clinux_take_pending_signals pending.exchange"])
            if count == 2 { thread.read(done) }
        }
        program.atEnd { _, last in last(pending) == 0 || last(pipe) > 0 }
        return program
    }

    /// Two requests of a backtrace, which may be given up at any time, and the handler of each.
    private static let backtraces = ProtocolModel(name: "a backtrace is requested and given up, and again") { orders in
        enum State { static let (idle, claimed, requested, taking, taken, abandoned) = (0, 1, 2, 3, 4, 5) }
        var program = Program()
        let state = program.atomic()
        let wanted = program.atomic()
        let addresses = program.plain("the addresses")
        func change(_ from: Int, _ to: Int, _ thread: ModelThread) -> Bool {
            let site: StaticString = "CLinux.clinux_change_backtrace state.compare_exchange"
            return thread.compareExchange(state, from, to, orders[site], failure: orders.failure(site)).exchanged
        }
        for number in 1...2 {
            program.thread { thread in
                let asked = thread.load(wanted, orders["CLinux.clinux_handle_backtrace_signal thread.load"])
                guard asked == number && change(State.requested, State.taking, thread) else { return }
                thread.write(addresses)
                if !change(State.taking, State.taken, thread) {
                    _ = change(State.abandoned, State.idle, thread)
                }
            }
        }
        program.thread { thread in
            for number in 1...2 {
                _ = thread.call {
                    guard change(State.idle, State.claimed, thread) else { return 0 }
                    thread.store(wanted, number, orders["CLinux.clinux_request_backtrace thread.store"])
                    _ = change(State.claimed, State.requested, thread)
                    if thread.load(state, orders["CLinux.clinux_has_backtrace state.load"]) == State.taken {
                        thread.read(addresses)
                    }
                    return thread.repeating { _ in
                        let isOver =
                            change(State.requested, State.idle, thread)
                            || change(State.taking, State.abandoned, thread)
                            || change(State.taken, State.idle, thread)
                        return isOver ? .end(0) : .again(0)
                    }
                }
            }
        }
        return program
    }
}
