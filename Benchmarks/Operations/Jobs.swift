import RunLoopKit

extension Operation {
    /// Jobs of Swift concurrency.
    static let jobs = [
        Operation("task-and-run") { loop in
            loop.add(try Loop.PortSource { _ in })
            return { count in
                for _ in 0..<count {
                    Task(executorPreference: loop.taskExecutor) {}
                    loop.run(for: .zero)
                }
            }
        },
        // The task gives way, so that its next part is a new job. All in one run.
        Operation("job-chain") { loop in
            loop.add(try Loop.PortSource { _ in })
            return { count in
                Task(executorPreference: loop.taskExecutor) {
                    for _ in 0..<count { await Task.yield() }
                    loop.stop()
                }
                loop.run(for: .anHour)
            }
        },
        // A task on the loop calls an actor on the loop: one job there, and one back.
        Operation("actor-calls") { loop in
            loop.add(try Loop.PortSource { _ in })
            let callee = Callee(loop)
            return { count in
                Task(executorPreference: loop.taskExecutor) {
                    for _ in 0..<count { await callee.call() }
                    loop.stop()
                }
                loop.run(for: .anHour)
            }
        },
        // A task on the loop iterates messages that wait.
        Operation("message-sequence") { loop in
            let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: loop)
            return { count in
                for number in 0..<count { port.send(number) }
                Task(executorPreference: loop.taskExecutor) {
                    var messages = messages.makeAsyncIterator()
                    for _ in 0..<count { _ = await messages.next() }
                    loop.stop()
                }
                loop.run(for: .anHour)
            }
        },
        // Two tasks on the loop send each other one message at a time.
        Operation("message-turns") { loop in
            let (there, requests) = Loop.MessagePort<Int>.makeMessages(on: loop)
            let (back, answers) = Loop.MessagePort<Int>.makeMessages(on: loop)
            return { count in
                Task(executorPreference: loop.taskExecutor) {
                    var requests = requests.makeAsyncIterator()
                    for _ in 0..<count { back.send(await requests.next()!) }
                }
                Task(executorPreference: loop.taskExecutor) {
                    var answers = answers.makeAsyncIterator()
                    for number in 0..<count {
                        there.send(number)
                        _ = await answers.next()
                    }
                    loop.stop()
                }
                loop.run(for: .anHour)
            }
        },
    ]
}

/// An actor on a loop.
private actor Callee {
    private let loop: Loop
    private var calls = 0

    init(_ loop: Loop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func call() { calls += 1 }
}
