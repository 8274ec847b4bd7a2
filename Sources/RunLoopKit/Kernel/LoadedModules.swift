internal import CLinux

/// A program or a library that the loader has mapped. It may have been unloaded since: nothing here reads its memory.
package final class LoadedModule: Sendable {
    /// The file's path.
    package let path: String
    /// What to read it by: another file may be at the program's path by now.
    let file: String
    /// How far its addresses are moved from those in the file.
    package let base: UInt
    /// In hexadecimal; empty if the linker has written none.
    package let buildID: String

    init(path: String, file: String, base: UInt, buildID: String) {
        (self.path, self.file, self.base, self.buildID) = (path, file, base, buildID)
    }

    /// A note has the lengths of its name and its contents, its type, the name and the contents, both padded to four
    /// bytes.
    static func buildID(in notes: UnsafeRawBufferPointer) -> String? {
        var offset = 0
        while offset + 12 <= notes.count {
            let word = { (index: Int) in
                Int(notes.loadUnaligned(fromByteOffset: offset + 4 * index, as: UInt32.self))
            }
            let (nameLength, length, type) = (word(0), word(1), word(2))
            let start = offset + 12 + (nameLength + 3) & ~3
            guard start + length <= notes.count else { return nil }
            if type == Int(NT_GNU_BUILD_ID), notes[offset + 12..<offset + 12 + nameLength].elementsEqual("GNU\0".utf8) {
                return notes[start..<start + length].map(hexadecimal).joined()
            }
            offset = start + (length + 3) & ~3
        }
        return nil
    }

    private static func hexadecimal(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}

extension System {
    /// The module that each address is in; nil if it is in none, as in code that the program has generated.
    package static func modules(containing addresses: [UInt]) -> [LoadedModule?] {
        let search = ModuleSearch(addresses)
        // The loader's lock is held meanwhile.
        _ = clinux_visit_modules(
            { module, _, context in
                guard let module, let context else { return 0 }
                Unmanaged<ModuleSearch>.fromOpaque(context).takeUnretainedValue().visit(module.pointee)
                return 0
            }, Unmanaged.passUnretained(search).toOpaque())
        return search.found
    }

    /// The program's file, whatever is at its path.
    fileprivate static let programFile = "/proc/self/exe"

    /// The name of the program's file; of how it was called, if that is gone.
    package static var programName: String {
        let file = resolved(Array(programFile.utf8) + [0]).map { String(decoding: $0, as: UTF8.self) }
        return (file ?? CommandLine.arguments.first ?? "").split(separator: "/").last.map(String.init) ?? "a program"
    }

    /// The path of this program; an empty string without `/proc`.
    fileprivate static var programPath: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            let count = clinux_read_link(programFile, buffer.baseAddress, UInt(buffer.count))
            guard count > 0 else { return "" }
            return String(decoding: UnsafeRawBufferPointer(buffer)[..<count], as: UTF8.self)
        }
    }
}

private final class ModuleSearch {
    private let addresses: [UInt]
    private(set) var found: [LoadedModule?]

    init(_ addresses: [UInt]) {
        self.addresses = addresses
        found = Array(repeating: nil, count: addresses.count)
    }

    func visit(_ module: clinux_module) {
        let segments = UnsafeBufferPointer(start: module.segments, count: Int(module.count))
        let base = UInt(module.base)
        let isInside = { (address: UInt) in
            segments.contains { segment in
                let start = base &+ UInt(segment.p_vaddr)
                return segment.p_type == UInt32(PT_LOAD) && address >= start
                    && address - start < UInt(segment.p_memsz)
            }
        }
        let indices = addresses.indices.filter { found[$0] == nil && isInside(addresses[$0]) }
        guard !indices.isEmpty else { return }
        let name = module.name.map { String(cString: $0) } ?? ""
        // The program itself has no name.
        let made = LoadedModule(
            path: name.isEmpty ? System.programPath : name, file: name.isEmpty ? System.programFile : name, base: base,
            buildID: buildID(in: segments, base))
        for index in indices { found[index] = made }
    }

    private func buildID(in segments: UnsafeBufferPointer<clinux_elf_segment>, _ base: UInt) -> String {
        for segment in segments where segment.p_type == UInt32(PT_NOTE) {
            guard let start = UnsafeRawPointer(bitPattern: base &+ UInt(segment.p_vaddr)) else { continue }
            let notes = UnsafeRawBufferPointer(start: start, count: Int(segment.p_memsz))
            if let found = LoadedModule.buildID(in: notes) { return found }
        }
        return ""
    }
}
