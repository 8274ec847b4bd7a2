import RunLoopKit

extension Operation {
    /// Blocks, sources and ports, from the call that makes them ready to the end of the run that serves them.
    static let inputs = [
        Operation("post-and-run") { loop in { count in postAndRun(on: loop, count) } },
        // Each block posts the next one, in one run.
        Operation("post-chain") { loop in
            let chain = Chain(loop)
            return chain.run
        },
        Operation("post-batch") { loop in
            { count in
                for _ in 0..<count { loop.perform {} }
                loop.run(for: .zero)
            }
        },
        Operation("source0-and-run") { loop in
            let source = Loop.Source0 {}
            loop.add(source)
            return { count in
                for _ in 0..<count {
                    source.signal()
                    loop.run(for: .zero)
                }
            }
        },
        Operation("port-and-run") { loop in
            let port = try Loop.PortSource { _ in }
            loop.add(port)
            return { count in
                for _ in 0..<count {
                    port.send()
                    loop.run(for: .zero)
                }
            }
        },
        Operation("message-and-run") { loop in
            let port = Loop.MessagePort<Int> { _ in }
            loop.add(port)
            return { count in
                for number in 0..<count {
                    port.send(number)
                    loop.run(for: .zero)
                }
            }
        },
        Operation("message-batch") { loop in
            let port = Loop.MessagePort<Int> { _ in }
            loop.add(port)
            return { count in
                for number in 0..<count { port.send(number) }
                while port.waitingCount > 0 { loop.run(for: .zero) }
            }
        },
        Operation("pipe-and-run") { loop in
            let pipe = try BytePipe()
            loop.add(try Loop.FileDescriptorSource(pipe.output) { _, _ in pipe.receive() })
            return { count in
                for _ in 0..<count {
                    pipe.send()
                    loop.run(for: .zero)
                }
            }
        },
        // As a server that has each connection's handler ask for the next report.
        Operation("pipe-rearm-and-run") { loop in
            let pipe = try BytePipe()
            let source = try Loop.FileDescriptorSource(pipe.output, isOneShot: true) { source, _ in
                pipe.receive()
                source.rearm()
            }
            loop.add(source)
            return { count in
                for _ in 0..<count {
                    pipe.send()
                    loop.run(for: .zero)
                }
            }
        },
        Operation("pipe-add-invalidate") { loop in
            let pipe = try BytePipe()
            return { count in
                for _ in 0..<count {
                    let source = try! Loop.FileDescriptorSource(pipe.output) { _, _ in }
                    loop.add(source)
                    source.invalidate()
                }
            }
        },
    ]
}

/// A block that posts itself.
private final class Chain: @unchecked Sendable {
    private let loop: Loop
    private let blocks = Countdown()
    private var block: @Sendable () -> Void = {}

    init(_ loop: Loop) {
        self.loop = loop
        block = { [unowned(unsafe) self] in post() }
    }

    func run(_ count: Int) {
        blocks.start(count)
        post()
        loop.run(for: .anHour)
    }

    private func post() { if blocks.next() { loop.perform(block) } else { loop.stop() } }
}
