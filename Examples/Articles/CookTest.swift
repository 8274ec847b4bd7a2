import RunLoopKit

let clock = VirtualClock(.manual)
let loop = Loop(clock: clock)
let saved = LoopBound<[String]>([], on: loop)
let save = Debounce<String>(interval: .seconds(3600), on: loop) {
    saved.value.append($0)
}

save("abc")
clock.advance(by: .seconds(3599))
print(saved.value)  // in a test: #expect(saved.value.isEmpty)
clock.advance(by: .seconds(1))
print(saved.value)
