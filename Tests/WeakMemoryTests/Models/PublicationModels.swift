import WeakMemory

extension ProtocolModel {
    /// A thread does something and then stores a value; another one that reads the value sees what it did.
    private static func publication(_ name: String, store: String, load: String) -> ProtocolModel {
        ProtocolModel(name: name) { orders in
            var program = Program()
            let value = program.atomic()
            let data = program.plain("what the storing thread did")
            program.thread { thread in
                thread.write(data)
                if store.hasSuffix("compareExchange") {
                    _ = thread.compareExchange(
                        value, 0, 1, orders.order(of: store), failure: orders.order(of: store + " failure"))
                } else {
                    thread.store(value, 1, orders.order(of: store))
                }
            }
            program.thread { thread in
                let found: Int
                if load.hasSuffix("compareExchange") {
                    let change = thread.compareExchange(
                        value, 1, 0, orders.order(of: load), failure: orders.order(of: load + " failure"))
                    found = change.exchanged ? 1 : 0
                } else if load.hasSuffix("exchange") {
                    found = thread.exchange(value, 0, orders.order(of: load))
                } else {
                    found = thread.load(value, orders.order(of: load))
                }
                if found == 1 { thread.read(data) }
            }
            return program
        }
    }

    private static func stop(_ load: String) -> ProtocolModel {
        publication("a loop is stopped: \(load)", store: "Loop.stop stopFlag.compareExchange", load: load)
    }

    private static func lifecycle(_ property: String) -> ProtocolModel {
        publication(
            "a loop ends: \(property)", store: "Lifecycle.advance lifecycle.store",
            load: "Lifecycle.\(property) lifecycle.load")
    }

    private static func life(_ function: String, _ property: String) -> ProtocolModel {
        publication(
            "an item: \(function), \(property)", store: "Item.\(function) life.store",
            load: "Item.\(property) life.load")
    }

    static let publicationModels = [
        stop("RunStack.isStopped stopFlag.load"),
        stop("RunStack.- stopFlag.exchange"),
        stop("Hosting.outcome stopFlag.compareExchange"),
        stopBelowAnotherRun,
        lifecycle("isClosing"),
        lifecycle("hasEnded"),
        lifecycle("isOver"),
        life("becomeInvalidWhileLocked", "isValid"),
        life("becomeInvalidWhileLocked", "canBeCalled"),
        life("leaveWhileLocked", "isValid"),
        life("releaseIfOver", "isValid"),
        life("replaceHandler", "canBeCalled"),
        life("replaceHandler", "hasHandler"),
        publication(
            "a thread asks whether a source is signalled", store: "Source0.noteSignal signalTime.store",
            load: "Source0.isSignalled signalTime.load"),
        publication(
            "a signal asks for a dump", store: "LoopDump.start port.store", load: "LoopDump.request port.load"),
        publication("a dump is started twice", store: "LoopDump.start port.store", load: "LoopDump.start port.load"),
        onePerProcess,
        // What the C library keeps for a key is plain.
        madeOnce(
            "a key is made once", load: "ThreadLoops.key keyAndOne.load",
            exchange: "ThreadLoops.makeKey keyAndOne.compareExchange"),
        madeOnce(
            "an engine of rules is made once", load: "RuleEngine.shared sharedEngine.load",
            exchange: "RuleEngine.makeShared sharedEngine.compareExchange"),
    ]

    /// A stop that waits while a run above runs, which begins and ends on the loop's thread.
    private static let stopBelowAnotherRun = ProtocolModel(name: "a loop is stopped while another run begins") {
        orders in
        var program = Program()
        let flag = program.atomic()
        let data = program.plain("what the stopping thread did")
        program.thread { thread in
            thread.write(data)
            let site: StaticString = "Loop.stop stopFlag.compareExchange"
            _ = thread.compareExchange(flag, 0, 1, orders[site], failure: orders.failure(site))
        }
        program.thread { thread in
            let below = thread.exchange(flag, 0, orders["RunStack.- stopFlag.exchange"])
            thread.store(flag, below, orders["RunStack.restoreStopFlag stopFlag.store"])
            if thread.load(flag, orders["RunStack.isStopped stopFlag.load"]) == 1 { thread.read(data) }
        }
        return program
    }

    /// Two threads use the process's only object, and make it if there is none; a third one uses it if it is made.
    private static let onePerProcess = ProtocolModel(name: "an object is made once") { orders in
        var program = Program()
        let entry = program.atomic()
        // None is number 0.
        let objects = (0...2).map { program.plain("object \($0)") }
        for maker in 1...2 {
            program.thread { thread in
                var used = thread.load(entry, orders["OnePerProcess.object entry.load"])
                if used == 0 {
                    thread.write(objects[maker])
                    let site: StaticString = "OnePerProcess.object entry.compareExchange"
                    let result = thread.compareExchange(
                        entry, 0, maker, orders[site], failure: orders.failure(site))
                    used = result.exchanged ? maker : result.original
                }
                thread.read(objects[used])
            }
        }
        program.thread { thread in
            let found = thread.load(entry, orders["OnePerProcess.objectIfMade entry.load"])
            if found > 0 { thread.read(objects[found]) }
        }
        return program
    }

    /// Two threads use an object, and make it if there is none.
    private static func madeOnce(
        _ name: String, load: StaticString, exchange: StaticString
    ) -> ProtocolModel {
        ProtocolModel(name: name) { orders in
            var program = Program()
            let word = program.atomic()
            // None is number 0.
            let objects = (0...2).map { program.plain("object \($0)") }
            for maker in 1...2 {
                program.thread { thread in
                    var used = thread.load(word, orders[load])
                    if used == 0 {
                        thread.write(objects[maker])
                        let result = thread.compareExchange(
                            word, 0, maker, orders[exchange], failure: orders.failure(exchange))
                        used = result.exchanged ? maker : result.original
                    }
                    thread.read(objects[used])
                }
            }
            return program
        }
    }
}
