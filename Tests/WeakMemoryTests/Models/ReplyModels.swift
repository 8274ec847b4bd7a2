import WeakMemory

// `Reply` and `Waiter`, as in `Threads/Reply.swift`.

extension ProtocolModel {
    static let replyModels = [
        ProtocolModel(name: "a thread waits for an answer") { orders in
            var program = Program()
            let word = program.atomic()
            let error = program.plain("the answer")
            program.thread { thread in
                thread.write(error)
                if thread.exchange(word, 2, orders["Reply.fulfil word.exchange"]) == 1 { thread.wakeOne(word) }
            }
            program.thread { thread in
                let site: StaticString = "Reply.wait word.compareExchange"
                let found = thread.compareExchange(word, 0, 1, orders[site], failure: orders.failure(site)).original
                thread.repeating(from: found) { found in
                    guard found != 2 else { return .end(0) }
                    thread.sleep(word, while: 1)
                    return .again(thread.load(word, orders["Reply.wait word.load"]))
                }
                thread.read(error)
            }
            return program
        },
        ProtocolModel(name: "work is begun and withdrawn") { orders in
            var program = Program()
            let state = program.atomic()
            let work = program.plain("the work")
            for new in 1...2 {
                program.thread { thread in
                    let order = orders["Reply.change state.compareExchange"]
                    guard thread.compareExchange(state, 0, new, order).exchanged else { return }
                    thread.write(work)
                }
            }
            return program
        },
    ]
}
