import WeakMemory

/// `TurnCounter`, as in `Basics/TurnCounter.swift`, with periods of eight numbers. The first one is nearly over.
private struct ModelledTurns {
    static let shift = 3

    let period: Location
    let last: Location
    let orders: Orders

    func nextOutside(_ thread: ModelThread) -> Int {
        (thread.add(period, 1, orders["TurnCounter.nextOutside period.wrappingAdd"]) + 1) << Self.shift
    }

    func next(_ thread: ModelThread) -> Int {
        let found = thread.load(period, orders["TurnCounter.next period.load"])
        raise(to: found << Self.shift, thread)
        let turn = thread.add(last, 1, orders["TurnCounter.next last.wrappingAdd"]) + 1
        guard turn >> Self.shift > found else { return turn }
        thread.modify(period, orders["TurnCounter.nextSlowly period.max"]) { max($0, turn >> Self.shift) }
        return turn & (1 << Self.shift - 1) == 0 ? next(thread) : turn
    }

    private func raise(to turn: Int, _ thread: ModelThread) {
        guard thread.load(last, orders["TurnCounter.raise last.load"]) < turn else { return }
        thread.modify(last, orders["TurnCounter.raise last.max"]) { max($0, turn) }
    }
}

extension ProtocolModel {
    /// An event happens before another one, beside a third. Each is one of the loop, or outside of it.
    private static func turnModel(_ first: Bool, _ second: Bool, besideOutside: Bool) -> ProtocolModel {
        func word(_ isOutside: Bool) -> String { isOutside ? "outside" : "of a loop" }
        let name = "an event \(word(first)), and then one \(word(second)), beside one \(word(besideOutside))"
        return ProtocolModel(name: name) { orders in
            var program = Program()
            let turns = ModelledTurns(period: program.atomic(1), last: program.atomic(14), orders: orders)
            let flag = program.atomic()
            let number = program.plain("the number")
            func turn(_ isOutside: Bool, _ thread: ModelThread) -> Int {
                thread.call { isOutside ? turns.nextOutside(thread) : turns.next(thread) }
            }
            program.thread { thread in
                thread.write(number, turn(first, thread))
                thread.store(flag, 1, .releasing)
            }
            program.thread { thread in
                guard thread.load(flag, .acquiring) == 1 else { return }
                let later = turn(second, thread)
                thread.expect(later > thread.read(number), "the later event has the smaller number")
            }
            program.thread { _ = turn(besideOutside, $0) }
            return program
        }
    }

    static let turnModels = [true, false].flatMap { first in
        [true, false].flatMap { second in
            [true, false].map { turnModel(first, second, besideOutside: $0) }
        }
    }
}
