import RunLoopKit

extension GrowingOperation {
    static let messagePorts = GrowingOperation(
        "message-ports", "A message to one of so many ports, and a run that handles it."
    ) { loop, size in
        let ports = (0..<size).map { _ in Loop.MessagePort<Int> { _ in } }
        for port in ports { loop.add(port) }
        return { count in
            for number in 0..<count {
                ports[number % size].send(number)
                loop.run(for: .zero)
            }
        }
    }
}
