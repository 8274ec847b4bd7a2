import RunLoopKit

extension GrowingOperation {
    static let readyMessagePorts = GrowingOperation(
        "ready-message-ports", "A run that handles one of so many ready ports, which is then sent to again."
    ) { loop, size in
        let handled = Handled()
        let ports = (0..<size).map { _ in Loop.MessagePort<Int> { handled.index = $0 } }
        for (index, port) in ports.enumerated() {
            loop.add(port)
            port.send(index)
        }
        return { count in
            for _ in 0..<count {
                loop.run(for: .zero)
                ports[handled.index].send(handled.index)
            }
        }
    }
}

/// Which port's handler was called last. Accessed on the loop's thread only.
private final class Handled: @unchecked Sendable { var index = 0 }
