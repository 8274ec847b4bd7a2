import RunLoopKit

extension GrowingOperation {
    static let readyMessagePorts = GrowingOperation(
        "ready-message-ports", "A message to each of so many ports, and for each a run, which handles one.",
        count: 2_000
    ) { loop, size in
        let ports = (0..<size).map { _ in Loop.MessagePort<Int> { _ in } }
        for port in ports { loop.add(port) }
        return { count in
            // A count that is no multiple of the size is rounded up: all ports are ready before the first run.
            for _ in stride(from: 0, to: count, by: size) {
                for port in ports { port.send(1) }
                for _ in ports { loop.run(for: .zero) }
            }
        }
    }
}
