// The same in a type with '@main' whose main function is not async: it keeps the initial thread, and the main loop.
import RunLoopKit

@MainActor
final class Greeter {
    private(set) var greetings = 0

    func greet(_ name: String) async {
        await Task.yield()
        greetings += 1
        print("hello \(name), on the main thread: \(Loop.main.isOnOwnThread)")
    }
}

@main
struct SyncMainProgram {
    @MainActor static func main() {
        let greeter = Greeter()
        Task {
            await greeter.greet("one")
            try await Task.sleep(for: .milliseconds(1), clock: .loop(.main))
            await greeter.greet("two")
            Loop.main.stop()
        }
        Loop.main.run()
        print("\(greeter.greetings) greetings")
    }
}
