import RunLoopKit

let save = Debounce<String>(
    interval: .milliseconds(50), maxWait: .seconds(5)
) { text in
    print("saves \(text)")
    Loop.main.stop()
}
for text in ["a", "ab", "abc"] { save(text) }  // as a user types
Loop.main.run()
