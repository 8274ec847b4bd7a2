import WeakMemory

extension ProtocolModel {
    /// `Arrivals`, as in `Loop/Items/Arrivals.swift`: two threads make items ready and leave notes. A loop takes all
    /// items that have arrived when it has read the notes. It sleeps until it has both.
    static let arrivalModels = [
        ProtocolModel(name: "two items become ready") { orders in
            var program = Program()
            let lock = program.atomic()
            let hasItems = program.atomic()
            let items = program.plain("the items")
            let note = program.atomic()
            for item in 0..<2 {
                program.thread { thread in
                    thread.lock(lock)
                    let others = thread.read(items)
                    thread.write(items, others | 1 << item)
                    // Only the first one.
                    if others == 0 { thread.store(hasItems, 1, orders["Arrivals.insert hasItems.store"]) }
                    thread.unlock(lock)
                    thread.modify(note, orders["Waker.leave word.bitwiseOr"]) { $0 | 1 }
                }
            }
            program.thread { thread in
                thread.repeating { taken in
                    if taken == 3 { return .end(0) }
                    // Sleeps without a note.
                    thread.take(note, orders["Waker.change word.weakCompareExchange"])
                    guard thread.load(hasItems, orders["Arrivals.isEmpty hasItems.load"]) == 1 else {
                        return .again(taken)
                    }
                    thread.lock(lock)
                    thread.store(hasItems, 0, orders["Arrivals.takeAll hasItems.store"])
                    let all = taken | thread.read(items)
                    thread.write(items, 0)
                    thread.unlock(lock)
                    return .again(all)
                }
            }
            return program
        }
    ]
}
