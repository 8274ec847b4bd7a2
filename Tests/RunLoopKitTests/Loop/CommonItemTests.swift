import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Items of `common` join modes that no run uses when these are looked at next. No caller can tell.
@Suite(.timeBound) struct CommonItemTests {
    private static let late: Loop.Mode = "late"

    private func loop(withCommon modes: Loop.Mode...) -> Loop {
        let loop = Loop.inVirtualTime().0
        for mode in modes { loop.addCommonMode(mode) }
        return loop
    }

    /// As in CFRunLoop.
    @Test("Blocks for the common modes wait for the next pass when the mode of the run becomes common")
    func blocks() throws {
        let loop = loop()
        defer { loop.end() }
        let log = Log<Duration>()
        let start = loop.now
        loop.add(try Loop.PortSource { _ in }, in: Self.late)
        loop.add(Loop.Timer(after: .seconds(5)) { _ in }, in: Self.late)
        loop.perform(in: .common) { log.add(start.duration(to: loop.now)) }
        loop.perform(in: Self.late) { loop.addCommonMode(Self.late) }
        loop.run(mode: Self.late, for: .seconds(10))
        #expect(log.entries == [.seconds(5)])
    }

    @Test("An item costs nothing for common modes that are merely there")
    func cost() throws {
        let loop = loop()
        defer { loop.end() }
        for number in 0..<1_000 { loop.addCommonMode(Loop.Mode("common \(number)")) }
        let port = try Loop.PortSource { _ in }
        loop.add(port, in: .common)
        #expect(port.currentModes.map(\.mode) == [.common, .default])
        #expect(loop.modes.count == 1_001)
        port.invalidate()
    }

    @Test("An item that has left a mode does not join it again", arguments: [false, true])
    func left(modeExists: Bool) {
        let loop = loop()
        defer { loop.end() }
        let timer = Loop.Timer(after: .seconds(1)) { _ in }
        loop.add(timer, in: .common)
        if modeExists { loop.add(Loop.Observer(.exit) { _, _ in }, in: Self.late) }
        loop.addCommonMode(Self.late)
        loop.remove(timer, in: Self.late)
        #expect(!loop.contains(timer, in: Self.late))
    }

    @Test("A mode that catches up has its items in the order in which they were added")
    func order() {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let log = Log<Int>()
        let observers = (0..<6).map { number in Loop.Observer(.beforeTimers) { _, _ in log.add(number) } }
        for (number, observer) in observers.enumerated() {
            loop.add(observer, in: number % 3 == 2 ? Self.late : .common)
        }
        loop.add(Loop.Timer(after: .zero) { _ in }, in: .common)
        loop.run(mode: Self.late, for: .zero)
        #expect(log.entries == [0, 1, 2, 3, 4, 5])
    }

    @Test("An item that has left by name, or left the common modes, does not come back")
    func leaving() {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let sources = (0..<4).map { _ in Loop.Source0 {} }
        for source in sources { loop.add(source, in: .common) }
        loop.remove(sources[0], in: Self.late)
        loop.remove(sources[1], in: .common)
        sources[2].invalidate()
        #expect(sources.map { loop.contains($0, in: Self.late) } == [false, false, false, true])
        #expect(sources.map { loop.contains($0, in: .common) } == [true, false, false, true])
        loop.add(sources[1], in: .common)
        #expect(sources.map { loop.contains($0, in: Self.late) } == [false, true, false, true])
    }

    @Test("Removing an item from the common modes removes it from modes it has joined since, and by name")
    func removal() {
        let loop = loop(withCommon: Self.late, "later")
        defer { loop.end() }
        let source = Loop.Source0 {}
        loop.add(source, in: "private")
        loop.add(source, in: "later")
        loop.add(source, in: .common)
        loop.run(mode: Self.late, for: .zero)
        loop.remove(source, in: .common)
        #expect(source.allModes.map(\.mode) == ["private"])
    }

    @Test("A run finds what was added during it, in its own mode and in those of the runs below it")
    func activeRuns() {
        let loop = loop(withCommon: Self.late, "later")
        defer { loop.end() }
        let log = Log<String>()
        loop.perform(in: Self.late) {
            loop.perform(in: "later") {
                let observer = Loop.Observer(.exit) { _, _ in log.add("exit of \(loop.currentMode!)") }
                loop.add(observer, in: .common)
            }
            loop.run(mode: "later", for: .zero)
        }
        loop.run(mode: Self.late, for: .zero)
        #expect(log.entries == ["exit of later", "exit of late"])
    }

    @Test("Ports are served in the order of their sends in a mode that catches up")
    func ports() throws {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let log = Log<String>()
        let named = try Loop.PortSource { _ in log.add("named") }
        let common = try Loop.PortSource { _ in log.add("common") }
        let messages = Loop.MessagePort<Int> { _ in log.add("message") }
        loop.add(named, in: Self.late)
        loop.run(mode: Self.late, for: .zero)
        loop.add(messages, in: .common)
        loop.add(common, in: .common)
        messages.send(1)
        common.send()
        named.send()
        for _ in 0..<3 { loop.run(mode: Self.late, for: .zero) }
        #expect(log.entries == ["message", "common", "named"])
    }

    /// As in CFRunLoop: the timer is in another mode of the loop.
    @Test("A due timer that leaves the default mode fires if it is in another", arguments: [false, true])
    func dueTimerLeavesByName(isAskedFor: Bool) {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let log = Log<Int>()
        let second = Loop.Timer(after: .zero) { _ in log.add(2) }
        loop.add(Loop.Timer(after: .zero) { _ in loop.remove(second, in: .default) })
        loop.add(second, in: .common)
        if isAskedFor { #expect(loop.contains(second, in: Self.late)) }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [2])
    }

    @Test("What is ready wakes its loop once, however late its modes catch up", arguments: ["source", "port"])
    func lateJoiningWakesNoLoop(kind: String) {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let source = Loop.Source0 {}
        let port = Loop.MessagePort<Int> { _ in }
        let item = kind == "source" ? source : port
        loop.add(item, in: .common)
        source.signal()
        port.send(1)
        loop.waker.endWait()
        #expect(loop.contains(item, in: Self.late))
        #expect(!loop.waker.hasNote)
        loop.add(item, in: "further")
        #expect(loop.waker.hasNote, "a mode that it joins by name has not been woken for it")
    }

    @Test("A source that was signalled before its mode catches up is performed there")
    func signals() {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let log = Log<String>()
        let source = Loop.Source0 { log.add("performed") }
        loop.add(source, in: .common)
        source.signal()
        loop.run(mode: Self.late, for: .zero)
        #expect(log.entries == ["performed"])
    }

    @Test("A timer whose time changes before its mode catches up fires there at the new time")
    func timers() {
        let loop = loop(withCommon: Self.late)
        defer { loop.end() }
        let start = loop.now
        let log = Log<Duration>()
        let timer = Loop.Timer(after: .seconds(5)) { _ in log.add(start.duration(to: loop.now)) }
        loop.add(timer, in: .common)
        timer.nextFireTime = start.advanced(by: .seconds(2))
        #expect(loop.nextTimerFireTime(in: Self.late) == start.advanced(by: .seconds(2)))
        loop.run(mode: Self.late, for: .seconds(9))
        #expect(log.entries == [.seconds(2)])
    }

    @Test("Descriptions, explanations and the end know all modes of an item")
    func listing() {
        let loop = loop(withCommon: Self.late)
        let log = Log<String>()
        let source = Loop.Source0(
            schedule: { _, mode in log.add("joined \(mode)") }, cancel: { _, mode in log.add("left \(mode)") }
        ) {}
        loop.add(source, in: .common)
        #expect(log.entries == ["joined default", "joined late"])
        let timer = Loop.Timer(after: .seconds(5)) { _ in }
        loop.add(timer, in: .common)
        loop.remove(timer, in: .default)
        #expect(timer.description.contains("in common, late"))
        let other = Loop.Timer(after: .seconds(5)) { _ in }
        loop.add(other, in: .common)
        loop.remove(other, in: .default)
        #expect(loop.explain(other) == .loopDoesNotRun)
        loop.end()
        #expect(log.entries.suffix(2) == ["left default", "left late"])
        #expect(loop.explain(source) != .loopDoesNotRun)
    }
}
