import RunLoopKit

let loop = Loop(clock: VirtualClock())  // Loop.main in a program
let mail = KeyedThrottle<String, String>(
    interval: .seconds(60), on: loop
) { user, text in print("to \(user): \(text)") }

for text in ["one", "two", "three"] {
    mail(text, for: "ann")
    mail(text, for: "bob")
}
loop.run()
