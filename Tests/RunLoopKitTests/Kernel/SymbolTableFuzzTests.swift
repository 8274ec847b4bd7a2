#if _pointerBitWidth(_64) && _endian(little)
    import Foundation
    import TestSupport
    import Testing

    @testable import RunLoopKit

    /// Programs that are nearly valid, as reports of stalls read them. `scripts/fuzz` gives more of them, guided by
    /// coverage.
    @Suite(.timeBound) struct SymbolTableFuzzTests {
        /// A program with two functions and a build id.
        private static let program: [UInt8] = {
            let names = Array("\0first\0$s4Fuzz6secondSiyF\0".utf8)
            let symbols = symbol(name: 0, 0, 0) + symbol(name: 1, 0x1000, 16) + symbol(name: 7, 0x1010, 32)
            let note = bytes(UInt32(4)) + bytes(UInt32(2)) + bytes(UInt32(3)) + Array("GNU\0".utf8) + [0xAB, 0xC, 0, 0]
            let (namesOffset, symbolsOffset) = (64, 64 + names.count)
            let noteOffset = symbolsOffset + symbols.count
            let sectionsOffset = noteOffset + note.count
            let sections =
                section(type: 0, 0, 0, link: 0)
                + section(type: UInt32(2), symbolsOffset, symbols.count, link: 2)
                + section(type: UInt32(3), namesOffset, names.count, link: 0)
                + section(type: UInt32(7), noteOffset, note.count, link: 0)
            var header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 8)
            header += bytes(UInt16(3)) + bytes(UInt16(62)) + bytes(UInt32(1)) + bytes(UInt64(0)) + bytes(UInt64(0))
            header += bytes(UInt64(sectionsOffset)) + bytes(UInt32(0)) + bytes(UInt16(64)) + bytes(UInt16(0))
            header += bytes(UInt16(0)) + bytes(UInt16(64)) + bytes(UInt16(4)) + bytes(UInt16(2))
            return header + names + symbols + note + sections
        }()

        private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: value) { Array($0) }
        }

        private static func symbol(name: UInt32, _ start: UInt64, _ size: UInt64) -> [UInt8] {
            bytes(name) + [2, 0] + bytes(UInt16(1)) + bytes(start) + bytes(size)
        }

        private static func section(type: UInt32, _ offset: Int, _ size: Int, link: UInt32) -> [UInt8] {
            bytes(UInt32(0)) + bytes(type) + bytes(UInt64(0)) + bytes(UInt64(0)) + bytes(UInt64(offset))
                + bytes(UInt64(size)) + bytes(link) + bytes(UInt32(0)) + bytes(UInt64(8)) + bytes(UInt64(24))
        }

        /// - Parameter buildID: That of the program which runs.
        private static func functions(
            _ program: [UInt8], _ addresses: [UInt], buildID: String = "ab0c"
        ) -> [SymbolTable.Function?] {
            let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: path) }
            _ = FileManager.default.createFile(atPath: path, contents: Data(program))
            let module = LoadedModule(path: "/program", file: path, base: 0, buildID: buildID)
            return SymbolTable.functions(at: addresses, in: module)
        }

        @Test("The functions of a valid program are found")
        func valid() {
            let found = Self.functions(Self.program, [0x1003, 0x1010, 0x102F, 0x1030, 0xFFF])
            #expect(
                found.map { $0?.name } == [
                    "first", "Fuzz.second() -> Swift.Int", "Fuzz.second() -> Swift.Int", nil, nil,
                ])
            #expect(found.map { $0?.offset } == [3, 0, 31, nil, nil])
        }

        @Test("Another file at the path of the program has no functions of it")
        func replaced() {
            #expect(Self.functions(Self.program, [0x1003], buildID: "ab0d").map { $0?.name } == [nil])
            #expect(Self.functions(Self.program, [0x1003], buildID: "").map { $0?.name } == ["first"])
        }

        @Test("A program that is cut off anywhere has an answer for each address")
        func cutOff() {
            for count in 0..<Self.program.count {
                #expect(Self.functions(Array(Self.program.prefix(count)), [0x1003, 0x1010]).count == 2)
            }
        }

        @Test("So has one with other numbers anywhere", arguments: 0..<10)
        func changed(_ seed: UInt64) {
            var random = SplitMix(seed)
            let numbers: [UInt64] = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, .max >> 1, .max - 7, .max]
            for _ in 0..<100 {
                var program = Self.program
                for _ in 0...random.below(3) {
                    let number = Self.bytes(random.pick(numbers)).prefix(random.pick([1, 2, 4, 8]))
                    let place = 8 * random.below(program.count / 8 - 1)
                    program.replaceSubrange(place..<place + number.count, with: number)
                }
                #expect(Self.functions(program, [0, 0x1003, 0x1010, .max]).count == 4)
            }
        }
    }
#endif
