import WeakMemory

/// `Lock`, as in `Basics/Lock.swift`.
struct ModelledLock {
    let word: Location
    let orders: Orders

    func lock(_ thread: ModelThread) {
        guard !take(thread) else { return }
        thread.repeating { _ in
            if thread.exchange(word, 2, orders["Lock.lockSlowly word.exchange"]) == 0 { return .end(0) }
            thread.sleep(word, while: 2)
            return .again(0)
        }
    }

    func take(_ thread: ModelThread) -> Bool {
        let site: StaticString = "Lock.take word.compareExchange"
        return thread.compareExchange(word, 0, 1, orders[site], failure: orders.failure(site)).exchanged
    }

    /// `lockSlowly(until:)`, whose time may be up at any moment.
    func lockIfInTime(_ thread: ModelThread) -> Bool {
        if take(thread) { return true }
        let isLocked = thread.repeating { _ in
            if thread.exchange(word, 2, orders["Lock.lockSlowly word.exchange"]) == 0 { return .end(1) }
            if thread.choose(2) == 0 { return .end(0) }
            thread.sleep(word, while: 2)
            return .again(0)
        }
        return isLocked == 1
    }

    func unlock(_ thread: ModelThread) {
        if thread.exchange(word, 0, orders["Lock.give word.exchange"]) == 2 { thread.wakeOne(word) }
    }
}

extension ProtocolModel {
    static let lockModels = [
        ProtocolModel(name: "a lock that three threads take") { orders in
            var program = Program()
            let lock = ModelledLock(word: program.atomic(), orders: orders)
            let data = program.plain("what the lock guards")
            for _ in 0..<3 {
                program.thread { thread in
                    lock.lock(thread)
                    thread.write(data)
                    lock.unlock(thread)
                }
            }
            return program
        },
        ProtocolModel(name: "a lock for which a thread waits a limited time") { orders in
            var program = Program()
            let lock = ModelledLock(word: program.atomic(), orders: orders)
            let data = program.plain("what the lock guards")
            for isLimited in [true, false] {
                program.thread { thread in
                    if isLimited {
                        guard lock.lockIfInTime(thread) else { return }
                    } else {
                        lock.lock(thread)
                    }
                    thread.write(data)
                    lock.unlock(thread)
                }
            }
            return program
        },
        ProtocolModel(name: "two threads wait with a condition for a change") { orders in
            var program = Program()
            let lock = ModelledLock(word: program.atomic(), orders: orders)
            let broadcasts = program.atomic()
            let waiting = program.atomic()
            let hasChanged = program.plain("what they wait for")
            for _ in 0..<2 {
                program.thread { thread in
                    lock.lock(thread)
                    thread.repeating { _ in
                        if thread.read(hasChanged) == 1 { return .end(0) }
                        thread.add(waiting, 1, orders["Lock.wait waiting.wrappingAdd"])
                        let seen = thread.load(broadcasts, orders["Lock.wait broadcasts.load"])
                        lock.unlock(thread)
                        thread.sleep(broadcasts, while: seen)
                        lock.lock(thread)
                        thread.add(waiting, -1, orders["Lock.wait waiting.wrappingSubtract"])
                        return .again(0)
                    }
                    lock.unlock(thread)
                }
            }
            program.thread { thread in
                lock.lock(thread)
                thread.write(hasChanged)
                lock.unlock(thread)
                guard thread.load(waiting, orders["Lock.broadcast waiting.load"]) > 0 else { return }
                thread.add(broadcasts, 1, orders["Lock.broadcast broadcasts.wrappingAdd"])
                thread.wakeAll(broadcasts)
            }
            return program
        },
    ]
}
