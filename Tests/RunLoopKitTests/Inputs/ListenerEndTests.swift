import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

#if DEBUG
    /// Listeners that end while the process has no descriptor left. Alone in a process, whose mistakes they count.
    @Suite(.timeBound) struct ListenerEndTests {
        private typealias Listener = Loop.Listener
        private typealias Connection = Loop.Connection

        @Test("An end without descriptors accepts what it can, and says that the rest is reset")
        func noDescriptors() async {
            await #expect(processExitsWith: .success) {
                let (mistakes, accepted) = (Log<String>(), Log<Connection>())
                Loop.mistakeHandling = .call { mistakes.add("\($0)") }
                let listener = try Listener(ListenerTests.Place.abstract.address, label: "server") { _, connection in
                    accepted.add(connection)
                }
                let clients = try (0..<3).map { _ in try Connection(connectingTo: listener.address!) }
                Faults(.init(.accept, first: 2, count: .max, error: EMFILE)).whileArmed {
                    listener.end()
                    listener.end()
                }
                precondition(accepted.entries.count == 1 && !listener.isValid)
                precondition(mistakes.entries.count == 1, "\(mistakes.entries)")
                let text = mistakes.entries[0]
                precondition(text.contains("server") && text.contains("reset (accept4(\(listener.descriptor)): "), text)
                precondition(text.contains("EMFILE"), text)
                (clients + accepted.entries).forEach { $0.invalidate() }
                _exit(0)
            }
        }

        /// The kernel needs a descriptor even to say that none waits.
        @Test("An end without descriptors says nothing if no connection waits", arguments: [0, 2])
        func noneWaits(_ count: Int) async {
            await #expect(processExitsWith: .success) { [count] in
                let (mistakes, accepted) = (Log<String>(), Count())
                Loop.mistakeHandling = .call { mistakes.add("\($0)") }
                let listener = try Listener(ListenerTests.Place.abstract.address) { _, connection in
                    accepted.up()
                    connection.invalidate()
                }
                let clients = try (0..<count).map { _ in try Connection(connectingTo: listener.address!) }
                Faults(.init(.accept, first: count + 1, count: .max, error: EMFILE)).whileArmed { listener.end() }
                precondition(accepted.value == count && mistakes.entries.isEmpty, "\(mistakes.entries)")
                clients.forEach { $0.invalidate() }
                _exit(0)
            }
        }
    }
#endif
