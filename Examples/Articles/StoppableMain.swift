import RunLoopKit

@main struct Program {
    static func main() {  // without async
        Loop.runMain {
            // Or a signal source for SIGTERM.
            let stop = Loop.Timer(after: .milliseconds(20)) { _ in
                Loop.main.stop()  // cancels the task of this body
            }
            Loop.main.add(stop, in: .common)

            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                print("cancelled; cleans up")
            }
        }
        print("ends")
    }
}
