// What scripts/fuzz gives to what reads bytes of peers, files and names.

import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

// MARK: Lines

/// The first three bytes choose the splitter and the sizes of the chunks, which the contents change. The lines must be
/// those of the whole text, divided at its newlines.
func playLines(_ document: [UInt8]) {
    guard document.count > 3 else { return }
    let longest = [0, 1, 2, 7, 100, Int.max][Int(document[0] % 6)]
    let removesCarriageReturns = document[1] & 1 == 0
    let text = document[3...]
    var splitter = Loop.LineSplitter(maximalLength: longest, removesCarriageReturns: removesCarriageReturns)
    var lines: [Loop.LineSplitter.Line] = []
    var rest = text
    while !rest.isEmpty {
        let chunk = rest.prefix(1 + Int(rest.first! ^ document[2]) % 40)
        rest = rest.dropFirst(chunk.count)
        lines += splitter.add(chunk)
    }
    if let last = splitter.finish() { lines.append(last) }
    let expected = wholeLines(of: text, longest, removesCarriageReturns)
    if lines != expected { fatalError("\(lines), not \(expected)") }
    for line in lines { _ = line.text }
}

private func wholeLines(
    of text: ArraySlice<UInt8>, _ longest: Int, _ removesCarriageReturns: Bool
) -> [Loop.LineSplitter.Line] {
    var pieces = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let last = pieces.removeLast()
    let ended = pieces.map { piece -> Loop.LineSplitter.Line in
        let line = removesCarriageReturns && piece.last == UInt8(ascii: "\r") ? piece.dropLast() : piece
        return line.count > longest ? .tooLong : .line(line)
    }
    return ended + (last.isEmpty ? [] : [last.count > longest ? .tooLong : .line(last)])
}

// MARK: Names

/// A name must be printable when it is printed, and stay as it is if it is printed again.
func playName(_ document: [UInt8]) {
    let text = String(decoding: document, as: UTF8.self)
    for shown in [text.printable, text.excerpt, text.excerpt.printable] {
        if !shown.unicodeScalars.allSatisfy(\.isPrintable) { fatalError("not printable: \(shown.debugDescription)") }
        if shown.printable != shown { fatalError("escaped twice: \(shown.debugDescription)") }
    }
    // Each of 80 characters is an escape of at most twelve, or two.
    if text.excerpt.unicodeScalars.count > 80 * 12 + 1 { fatalError("a long excerpt") }
    let mode = Loop.Mode(text)
    let loop = Loop(clock: VirtualClock())
    loop.perform(in: mode, label: text) {}
    loop.add(Loop.Timer(after: .seconds(1), label: text) { _ in }, in: mode)
    for line in loop.description.split(separator: "\n") {
        if !line.unicodeScalars.allSatisfy(\.isPrintable) { fatalError("not printable: \(line.debugDescription)") }
    }
    loop.end()
}

// MARK: Programs

/// A file of a program, which reports of stalls look into for the names of functions.
func playProgram(_ document: [UInt8]) {
    let file = programFile
    document.withUnsafeBytes { bytes in
        guard ftruncate(file, 0) == 0, pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count else {
            fatalError("the file cannot be written: error \(errno)")
        }
    }
    let addresses: [UInt] = [0, 1, 0x10, 0x1000, 0x1139, 0x40_1000, .max]
    let found = SymbolTable.functions(at: addresses, in: "/proc/self/fd/\(file)")
    if found.count != addresses.count { fatalError("\(found.count) answers") }
}

private let programFile: Int32 = {
    var path = Array("/tmp/fuzzed-program-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { fatalError("no file: error \(errno)") }
    unlink(path)
    return file
}()
