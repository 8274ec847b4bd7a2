import RunLoopKit

extension GrowingOperation {
    // Each port has a descriptor.
    static let ports = GrowingOperation(
        "ports", "A send to one of so many ports, and a run that handles it.", sizes: [10, 1_000, 10_000]
    ) { loop, size in
        let ports = try (0..<size).map { _ in try Loop.PortSource { _ in } }
        for port in ports { loop.add(port) }
        return { count in
            for number in 0..<count {
                ports[number % size].send()
                loop.run(for: .zero)
            }
        }
    }
}
