import RunLoopKit

extension Loop.Mode { static let modal: Loop.Mode = "modal" }

let loop = Loop(clock: VirtualClock())
loop.add(
    Loop.Timer(every: .seconds(1)) { _ in
        print("tick in the outer run")
    }, in: .default)
loop.add(
    Loop.Timer(after: .milliseconds(3500)) { _ in
        print("    the answer")
        loop.stop()  // the innermost run
    }, in: .modal)

loop.perform(in: .default) {
    print("    asks, and runs the loop until there is an answer")
    let result = loop.run(mode: .modal, for: .seconds(60))
    print("    the inner run returned '\(result)'")
}
let result = loop.run(mode: .default, for: .milliseconds(5500))
print("the outer run returned '\(result)'")
