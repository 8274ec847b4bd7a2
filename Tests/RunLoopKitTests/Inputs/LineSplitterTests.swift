import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The lines of bytes that are there in one piece, in the simplest way.
private func lines(of bytes: [UInt8], longest: Int, removesCarriageReturns: Bool) -> [Loop.LineSplitter.Line] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let rest = lines.removeLast()
    if removesCarriageReturns { lines = lines.map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 } }
    return (lines + (rest.isEmpty ? [] : [rest])).map { $0.count > longest ? .tooLong : .line($0) }
}

/// The lines of bytes that come in chunks.
private func lines(
    of chunks: [ArraySlice<UInt8>], _ splitter: inout Loop.LineSplitter
) -> [Loop.LineSplitter.Line] {
    chunks.flatMap { splitter.add($0) } + (splitter.finish().map { [$0] } ?? [])
}

@Suite(.timeBound) struct LineSplitterTests {
    @Test("Lines in chunks, and the last one without a newline")
    func example() {
        var splitter = Loop.LineSplitter()
        #expect(splitter.add(Array("one\ntw".utf8)).map(\.text) == ["one"])
        #expect(splitter.add(Array("o\r".utf8)) == [])
        #expect(splitter.add(Array("\n\nthree\u{E4}".utf8)).map(\.text) == ["two", ""])
        #expect(splitter.finish()?.text == "three\u{E4}")
        #expect(splitter.finish() == nil)
        #expect(splitter.add([0xFF, 10]).map(\.text) == ["\u{FFFD}"])
    }

    @Test("A line that is too long is reported once, before it ends, and the next one is whole")
    func tooLong() {
        var splitter = Loop.LineSplitter(maximalLength: 4)
        #expect(splitter.add(Array("1234".utf8)) == [])
        #expect(splitter.add(Array("5".utf8)) == [.tooLong])
        #expect(splitter.add(Array("678".utf8)) == [])
        #expect(splitter.add(Array("9\n1234\n".utf8)).map(\.text) == ["1234"])
        #expect(splitter.add(Array("12345".utf8)) == [.tooLong])
        #expect(splitter.finish() == nil && splitter.add([10]).map(\.text) == [""])
        #expect(Loop.LineSplitter(maximalLength: -1).maximalLength == 0)
    }

    /// Every text of up to five bytes, divided in every way.
    @Test("The division into chunks does not matter", arguments: [true, false], 0...3)
    func everyDivision(_ removesCarriageReturns: Bool, _ longest: Int) {
        var splitter = Loop.LineSplitter(maximalLength: longest, removesCarriageReturns: removesCarriageReturns)
        var texts: [[UInt8]] = [[]]
        for _ in 0..<5 { texts += texts.flatMap { text in [10, 13, 97].map { text + [$0] } } }
        for bytes in Set(texts) {
            let expected = lines(of: bytes, longest: longest, removesCarriageReturns: removesCarriageReturns)
            for cuts in 0..<(1 << max(0, bytes.count - 1)) {
                var chunks: [ArraySlice<UInt8>] = []
                var start = 0
                for end in bytes.indices where end == bytes.count - 1 || cuts >> end & 1 == 1 {
                    chunks.append(bytes[start...end])
                    start = end + 1
                }
                guard lines(of: chunks, &splitter) == expected else {
                    Issue.record("\(bytes) in \(chunks.map(\.count)) is not \(expected)")
                    return
                }
            }
        }
    }

    @Test("Long random texts", arguments: 0..<20)
    func randomTexts(_ seed: UInt64) {
        var random = SplitMix(seed)
        for _ in 0..<20 {
            let longest = random.pick([0, 1, 10, 100, 1000, .max])
            let removesCarriageReturns = random.once(in: 2)
            let rarity = random.pick([2, 20, 500])
            let bytes = (0..<random.below(5000)).map { _ -> UInt8 in
                random.once(in: rarity) ? random.pick([10, 13, 10]) : UInt8(random.below(256))
            }
            var chunks: [ArraySlice<UInt8>] = []
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + random.below(random.pick([3, 100, 3000])))
                chunks.append(bytes[start..<end])
                start = end
            }
            var splitter = Loop.LineSplitter(
                maximalLength: longest, removesCarriageReturns: removesCarriageReturns)
            let expected = lines(of: bytes, longest: longest, removesCarriageReturns: removesCarriageReturns)
            #expect(lines(of: chunks, &splitter) == expected)
        }
    }

    @Test("A line within a chunk is not copied")
    func slices() {
        let chunk = Array("some\r\nlines\r\n".utf8)
        var splitter = Loop.LineSplitter()
        let lines = splitter.add(chunk)
        let start = chunk.withUnsafeBytes { $0.baseAddress }
        let starts = lines.map { line -> UnsafeRawPointer? in
            guard case .line(let bytes) = line else { return nil }
            return bytes.withUnsafeBytes { $0.baseAddress }
        }
        #expect(starts == [start, start.map { $0 + 6 }])
    }

    /// A search from the beginning, or a copy, for each byte would never end.
    @Test("A long line in single bytes")
    func singleBytes() {
        var splitter = Loop.LineSplitter(maximalLength: .max)
        let byte: [UInt8] = [7]
        for _ in 0..<1 << 18 { _ = splitter.add(byte) }
        #expect(splitter.finish() == .line([UInt8](repeating: 7, count: 1 << 18)[...]))
    }

    @Test("Lines of a connection, the last one without a newline")
    func connection() throws {
        let (loop, ends) = (Loop(clock: VirtualClock()), Ends.sockets())
        let log = Log<String>()
        let splitter = LoopBound(Loop.LineSplitter(maximalLength: 5), on: loop)
        let connection = try Loop.Connection(owning: ends.reader) { connection, event in
            for line in splitter.value.add(event) { log.add(line.text ?? "too long") }
        }
        ends.isReaderClosed = true
        loop.add(connection)
        for text in ["he", "llo\nx\nhello ", "world\ny\nrest"] {
            ends.send(text)
            loop.run(mode: .default, for: .seconds(1))
        }
        #expect(log.entries == ["hello", "x", "too long", "y"])
        finishWriting(ends.writer)
        loop.run(mode: .default, for: .seconds(1))
        connection.invalidate()
        #expect(log.entries == ["hello", "x", "too long", "y", "rest"])
    }

    @Test("What a connection reports besides bytes, in the middle of a line")
    func otherEvents() {
        let failure = LoopError(call: "read", code: 104)
        for event in [.connected, .drained, .closed(nil), .closed(failure)] as [Loop.Connection.Event] {
            var splitter = Loop.LineSplitter()
            #expect(splitter.add(.received(Array("a\nb".utf8))) == [.line([97])])
            #expect(splitter.add(event) == [])
            #expect(splitter.add(.peerFinished) == [.line([98])])
            #expect(splitter.add(.peerFinished) == [])
        }
    }
}
