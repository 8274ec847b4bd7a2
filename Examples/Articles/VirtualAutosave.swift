import RunLoopKit

// What is to be tested. It takes the loop, so that a test can give it one.
final class Autosave: Sendable {
    let saved: LoopBound<[String]>
    private let loop: Loop
    private let save: Debounce<String>

    init(on loop: Loop) {
        self.loop = loop
        let saved = LoopBound<[String]>([], on: loop)
        self.saved = saved
        save = Debounce(
            interval: .seconds(2), maxWait: .seconds(30), on: loop
        ) { saved.value.append($0) }
    }

    func edit(_ text: String) { save(text) }
}

/// Or `#expect` of Swift Testing, or `XCTAssert`.
func expect(_ condition: Bool, _ what: String) {
    print(condition ? "passed:" : "FAILED:", what)
}

// Automatic time: the loop jumps from deadline to deadline.
do {
    let clock = VirtualClock()
    let loop = Loop(clock: clock)
    let autosave = Autosave(on: loop)
    for text in ["a", "ab", "abc"] { autosave.edit(text) }
    loop.run()  // until nothing is left to wait for
    expect(autosave.saved.value == ["abc"], "saves the last text")
    let end = Loop.Instant(nanoseconds: 2_000_000_000)
    expect(clock.now == end, "after two seconds")
}

// Manual time: the test moves it, and looks in between.
do {
    let clock = VirtualClock(.manual)
    let loop = Loop(clock: clock)
    let autosave = Autosave(on: loop)
    autosave.edit("a")
    clock.advance(by: .milliseconds(1999))
    expect(autosave.saved.value == [], "not before two seconds")
    clock.advance(by: .milliseconds(1))
    expect(autosave.saved.value == ["a"], "then at once")
}

// A loop that never comes to rest: give the run a limit.
do {
    let loop = Loop(clock: VirtualClock())
    let autosave = Autosave(on: loop)
    let typing = Loop.Timer(every: .seconds(1)) { firing in
        autosave.edit("after \(firing.scheduledTime.nanoseconds)")
    }
    loop.add(typing)
    loop.run(mode: .default, for: .seconds(70))
    expect(autosave.saved.value.count == 2, "saves every 30 seconds")
}
