import WeakMemory

/// `Readers`, as in `Basics/Readers.swift`.
struct ModelledReaders {
    let word: Location
    let orders: Orders

    func enter(_ thread: ModelThread) { thread.add(word, 2, orders["Readers.enter word.wrappingAdd"]) }

    func leave(_ thread: ModelThread) {
        if thread.add(word, -2, orders["Readers.leave word.wrappingSubtract"]) == 3 { thread.wakeAll(word) }
    }

    func areNone(_ thread: ModelThread) -> Bool {
        thread.load(word, orders["Readers.areNone word.load"]) < 2
    }

    func waitUntilNone(_ thread: ModelThread) {
        guard !areNone(thread) else { return }
        thread.modify(word, orders["Readers.waitUntilNoneSlowly word.bitwiseOr"]) { $0 | 1 }
        thread.repeating { _ in
            let found = thread.load(word, orders["Readers.waitUntilNoneSlowly word.load"])
            if found < 2 { return .end(0) }
            thread.sleep(word, while: found)
            return .again(0)
        }
        thread.modify(word, orders["Readers.waitUntilNoneSlowly word.bitwiseAnd"]) { $0 & ~1 }
    }
}

/// `SharedList`, as in `Basics/SharedList.swift`. Its elements are written when they are made and when they are freed.
private struct ModelledList {
    let elements: Location
    let readers: ModelledReaders
    let versions: [Plain]
    let orders: Orders

    init(_ program: inout Program, _ orders: Orders, versions count: Int = 2) {
        elements = program.atomic()
        readers = ModelledReaders(word: program.atomic(), orders: orders)
        versions = (0..<count).map { program.plain("elements \($0)") }
        self.orders = orders
    }

    func read(_ thread: ModelThread) {
        readers.enter(thread)
        thread.read(versions[thread.load(elements, orders["SharedList.look elements.load"])])
        readers.leave(thread)
    }

    func replace(with version: Int, _ thread: ModelThread) {
        thread.write(versions[version])
        thread.store(elements, version, orders["SharedList.change elements.store"])
    }
}

extension ProtocolModel {
    static let sharedListModels = [
        ProtocolModel(name: "a list is read and changed") { orders in
            var program = Program()
            let list = ModelledList(&program, orders, versions: 3)
            program.thread { list.read($0) }
            program.thread { thread in
                list.replace(with: 1, thread)
                let isUnread = list.readers.areNone(thread)
                if isUnread { thread.write(list.versions[0]) }
                list.replace(with: 2, thread)
                guard list.readers.areNone(thread) else { return }
                if !isUnread { thread.write(list.versions[0]) }
                thread.write(list.versions[1])
            }
            return program
        },
        ProtocolModel(name: "a list that two threads read is changed, and its readers are waited for") { orders in
            var program = Program()
            let list = ModelledList(&program, orders)
            for _ in 0..<2 { program.thread { list.read($0) } }
            program.thread { thread in
                list.replace(with: 1, thread)
                list.readers.waitUntilNone(thread)
                thread.write(list.versions[0])
            }
            return program
        },
        ProtocolModel(name: "two changes wait for the readers") { orders in
            var program = Program()
            let list = ModelledList(&program, orders, versions: 3)
            program.thread { list.read($0) }
            program.thread { thread in
                for version in 1...2 {
                    list.replace(with: version, thread)
                    list.readers.waitUntilNone(thread)
                    thread.write(list.versions[version - 1])
                }
            }
            return program
        },
    ]
}
