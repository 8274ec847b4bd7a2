import WeakMemory

// What diagnostics read beside a loop that goes on: see `RunLoopDiagnostics`.

extension ProtocolModel {
    static let diagnosticsModels = [
        traceRing(reads: 0), traceRing(reads: 1), activityRecorder, runningHandler, watcher, endedStalls, traceNames,
        traceThreads,
    ]

    /// One slot of `TraceRing`, with two words: two threads whose events belong into it, and the reader of one event.
    private static func traceRing(reads number: Int) -> ProtocolModel {
        ProtocolModel(name: "event \(number) of a ring is read while two are written") { orders in
            var program = Program()
            let mark = program.atomic()
            let words = [program.atomic(), program.atomic()]
            func markOf(_ number: Int) -> Int { (number + 1) << 1 }
            for number in 0..<2 {
                program.thread { thread in
                    let found = thread.load(mark, orders["TraceRing.claim slot.load"])
                    guard found & 1 == 0, found < markOf(number) else { return }
                    let site: StaticString = "TraceRing.claim slot.compareExchange"
                    let claim = thread.compareExchange(
                        mark, found, markOf(number) | 1, orders[site], failure: orders.failure(site))
                    guard claim.exchanged else { return }
                    for word in words { thread.store(word, number + 1, orders["TraceRing.store slot.store"]) }
                    thread.store(mark, markOf(number), orders["TraceRing.finish slot.store"])
                }
            }
            program.thread { thread in
                guard thread.load(mark, orders["TraceRing.read slot.load"]) == markOf(number) else { return }
                var isTorn = false
                for word in words {
                    if thread.load(word, orders["TraceRing.read slot.load"]) != number + 1 { isTorn = true }
                }
                let isWhole = thread.load(mark, orders["TraceRing.read slot.load relaxed"]) == markOf(number)
                thread.expect(!(isTorn && isWhole), "an event is torn")
            }
            return program
        }
    }

    /// `ActivityRecorder`: two events of a loop, and a thread that reads the times. Event n is at time n. It ends a
    /// period in a handler if n is even, else one outside of handlers; every period lasts 1.
    private static let activityRecorder = ProtocolModel(name: "the times of a loop are read beside two events") {
        orders in
        let busy = 9
        var program = Program()
        let accountedUntil = program.atomic()
        let running = program.atomic()
        let inHandlers = program.atomic()
        // The number of the event that began it.
        let phase = program.atomic()
        program.thread { thread in
            for event in 1...2 {
                thread.store(accountedUntil, busy, orders["ActivityRecorder.account accountedUntil.store relaxed"])
                let total = event == 1 ? running : inHandlers
                thread.store(total, 1, orders["ActivityRecorder.add total.store"])
                thread.store(accountedUntil, event, orders["ActivityRecorder.account accountedUntil.store"])
                thread.store(phase, event, orders["LoopRecorder.beginPeriod phase.store"])
            }
        }
        program.thread { thread in
            let start = thread.load(accountedUntil, orders["ActivityRecorder.times accountedUntil.load"])
            guard start != busy else { return }
            let handlers = thread.load(inHandlers, orders["ActivityRecorder.times inHandlers.load"])
            let awake = thread.load(running, orders["ActivityRecorder.times running.load"])
            let seen = thread.load(phase, orders["ActivityRecorder.times phase.load"])
            let end = thread.load(accountedUntil, orders["ActivityRecorder.times accountedUntil.load relaxed"])
            guard end == start else { return }
            thread.expect(awake == (start > 0 ? 1 : 0) && handlers == (start > 1 ? 1 : 0), "times of another event")
            // The phase is stored behind the time of its event.
            thread.expect(seen <= start && seen >= start - 1, "the phase of another event")
        }
        return program
    }

    /// `LoopRecorder`: a loop that calls handlers. Number n, from 1, has mark n.
    private struct Recorder {
        let mark: Location
        let since: Location
        let readers: ModelledReaders
        let handler: Plain
        let orders: Orders
        static let never = 0

        init(_ program: inout Program, _ orders: Orders) {
            mark = program.atomic(1)
            since = program.atomic()
            readers = ModelledReaders(word: program.atomic(), orders: orders)
            handler = program.plain("the handler")
            self.orders = orders
        }

        func beginHandler(_ thread: ModelThread, _ number: Int) {
            thread.write(handler, number)
            thread.store(since, 10 + number, orders["LoopRecorder.beginPeriod since.store"])
        }

        func endHandler(_ thread: ModelThread, _ number: Int) {
            thread.store(since, Self.never, orders["LoopRecorder.endHandler since.store"])
            thread.store(mark, number + 1, orders["LoopRecorder.endHandler mark.store"])
            readers.waitUntilNone(thread)
            thread.write(handler, 0)
        }

        /// The mark of the handler that runs; 0 if none does.
        func runningHandler(_ thread: ModelThread) -> Int {
            let before = thread.load(mark, orders["LoopRecorder.runningHandler mark.load"])
            let since = thread.load(since, orders["LoopRecorder.runningHandler since.load"])
            guard since != Self.never else { return 0 }
            let after = thread.load(mark, orders["LoopRecorder.runningHandler mark.load relaxed"])
            guard after == before else { return 0 }
            thread.expect(since == 10 + before, "the time of another handler")
            return before
        }
    }

    private static let runningHandler = ProtocolModel(name: "a thread asks which handler runs") { orders in
        var program = Program()
        let recorder = Recorder(&program, orders)
        program.thread { thread in
            for number in 1...3 {
                recorder.beginHandler(thread, number)
                recorder.endHandler(thread, number)
            }
        }
        program.thread { _ = recorder.runningHandler($0) }
        return program
    }

    private static let watcher = ProtocolModel(name: "a watcher looks into the handler that runs") { orders in
        var program = Program()
        let recorder = Recorder(&program, orders)
        program.thread { thread in
            for number in 1...2 {
                recorder.beginHandler(thread, number)
                recorder.endHandler(thread, number)
            }
        }
        program.thread { thread in
            let number = thread.call { recorder.runningHandler(thread) }
            guard number > 0 else { return }
            recorder.readers.enter(thread)
            if thread.load(recorder.mark, orders["LoopRecorder.whileInHandler mark.load"]) == number {
                thread.expect(thread.read(recorder.handler) == number, "another handler")
            }
            recorder.readers.leave(thread)
        }
        return program
    }

    /// A handler that was seen to run and has a later mark now is among those that have ended.
    private static let endedStalls = ProtocolModel(name: "a watcher asks whether a handler ran") { orders in
        var program = Program()
        let recorder = Recorder(&program, orders)
        let lock = program.atomic()
        let ended = program.plain("the stalls that have ended")
        program.thread { thread in
            recorder.beginHandler(thread, 1)
            thread.lock(lock)
            thread.write(ended, 1)
            thread.unlock(lock)
            recorder.endHandler(thread, 1)
        }
        program.thread { thread in
            guard thread.call({ recorder.runningHandler(thread) }) == 1 else { return }
            if thread.load(recorder.mark, orders["LoopRecorder.wasInHandler mark.load"]) == 1 { return }
            thread.lock(lock)
            thread.expect(thread.read(ended) == 1, "a stall has ended, and is not there")
            thread.unlock(lock)
        }
        return program
    }

    private static let traceNames = ProtocolModel(name: "a name is looked for while it is entered") { orders in
        var program = Program()
        let name = program.atomic()
        let address = program.atomic()
        program.thread { thread in
            thread.store(name, 7, orders["TraceNames.enter name.store"])
            thread.store(address, 1, orders["TraceNames.enter address.store"])
        }
        program.thread { thread in
            guard thread.load(address, orders["TraceNames.known address.load"]) == 1 else { return }
            thread.expect(thread.load(name, orders["TraceNames.known name.load"]) == 7, "no name")
        }
        return program
    }

    private static let traceThreads = ProtocolModel(name: "a thread's name is read while it is entered") { orders in
        var program = Program()
        let number = program.atomic()
        let halves = [program.atomic(), program.atomic()]
        let id = program.atomic()
        for thread in 1...2 {
            program.thread { model in
                let order = orders["TraceThreads.indexOfCurrentSlowly number.compareExchange"]
                guard model.compareExchange(number, 0, thread, order).exchanged else { return }
                model.store(halves[0], thread, orders["TraceThreads.enter firstHalf.store"])
                model.store(halves[1], thread, orders["TraceThreads.enter secondHalf.store"])
                model.store(id, thread, orders["TraceThreads.enter id.store"])
            }
        }
        program.thread { thread in
            let found = thread.load(id, orders["TraceThreads.thread id.load"])
            guard found > 0 else { return }
            let name = [
                thread.load(halves[0], orders["TraceThreads.thread firstHalf.load"]),
                thread.load(halves[1], orders["TraceThreads.thread secondHalf.load"]),
            ]
            thread.expect(name == [found, found], "another thread's name")
        }
        return program
    }
}
