internal import CLinux

/// The names of functions in an ELF file, whether or not it exports them: `dladdr` knows exported ones only, and none
/// of a static program.
package enum SymbolTable {
    package struct Function: Equatable {
        /// As in the file; demangled if it is of Swift.
        package let name: String
        /// How far behind the beginning of the function.
        package let offset: UInt
    }

    /// The functions that contain the addresses, which are those in the file; nil for an address in none, or if the
    /// file cannot be read, or has been stripped.
    package static func functions(at addresses: [UInt], in path: String) -> [Function?] {
        withContents(of: path) { find(addresses, in: $0) } ?? addresses.map { _ in nil }
    }

    /// The same of a module, whose build id its file must have: another one may be at its path by now.
    package static func functions(at addresses: [UInt], in module: LoadedModule) -> [Function?] {
        let found = withContents(of: module.file) { file in
            module.buildID.isEmpty || buildID(of: file) == module.buildID ? find(addresses, in: file) : nil
        }
        return (found ?? nil) ?? addresses.map { _ in nil }
    }

    private static func withContents<Result>(of path: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        let file = clinux_open_for_reading(path)
        guard file >= 0 else { return nil }
        defer { System.close(file) }
        let size = lseek(file, 0, SEEK_END)
        guard size > 0, let start = mmap(nil, Int(size), PROT_READ, MAP_PRIVATE, file, 0), Int(bitPattern: start) != -1
        else {
            return nil
        }
        defer { munmap(start, Int(size)) }
        return body(UnsafeRawBufferPointer(start: start, count: Int(size)))
    }

    private static func find(_ addresses: [UInt], in file: UnsafeRawBufferPointer) -> [Function?] {
        var found = [(symbol: clinux_elf_symbol, names: Int)?](repeating: nil, count: addresses.count)
        guard let low = addresses.min(), let high = addresses.max(), let table = symbols(in: file) else {
            return addresses.map { _ in nil }
        }
        let stride = MemoryLayout<clinux_elf_symbol>.stride
        for index in 0..<table.count {
            let symbol = file.loadUnaligned(
                fromByteOffset: table.start + index * stride, as: clinux_elf_symbol.self)
            let start = UInt(symbol.st_value)
            // The compiler gives every function its size.
            guard start <= high, start &+ UInt(symbol.st_size) > low, symbol.st_info & 0xF == UInt8(STT_FUNC) else {
                continue
            }
            for (number, address) in addresses.enumerated() where found[number] == nil {
                if address >= start, address - start < UInt(symbol.st_size) { found[number] = (symbol, table.names) }
            }
        }
        return found.indices.map { number in
            guard let (symbol, names) = found[number] else { return nil }
            let offset = addresses[number] - UInt(symbol.st_value)
            return name(at: names + Int(symbol.st_name), in: file).map { Function(name: $0, offset: offset) }
        }
    }

    /// Where the symbols are, and where their names begin: those for debuggers, or those for the loader.
    private static func symbols(in file: UnsafeRawBufferPointer) -> (start: Int, count: Int, names: Int)? {
        let sections = sections(in: file)
        guard let table = sections.ofType(SHT_SYMTAB).first ?? sections.ofType(SHT_DYNSYM).first,
            table.sh_link < sections.count, let names = sections[Int(table.sh_link)],
            let place = place(of: table, in: file), names.sh_offset <= file.count
        else {
            return nil
        }
        return (place.lowerBound, place.count / MemoryLayout<clinux_elf_symbol>.stride, Int(names.sh_offset))
    }

    /// The build id of a file, in hexadecimal; nil if it has none.
    private static func buildID(of file: UnsafeRawBufferPointer) -> String? {
        for section in sections(in: file).ofType(SHT_NOTE) {
            guard let place = place(of: section, in: file) else { continue }
            if let found = LoadedModule.buildID(in: UnsafeRawBufferPointer(rebasing: file[place])) { return found }
        }
        return nil
    }

    /// The sections by number; nil for those that the file lacks.
    private static func sections(in file: UnsafeRawBufferPointer) -> [clinux_elf_section?] {
        guard let header = load(clinux_elf_header.self, at: 0, in: file), file.starts(with: "\u{7F}ELF".utf8),
            header.e_shoff < file.count
        else {
            return []
        }
        return (0..<Int(header.e_shnum)).map { index in
            load(clinux_elf_section.self, at: Int(header.e_shoff) + index * Int(header.e_shentsize), in: file)
        }
    }

    /// Where the contents of a section are; nil if the file lacks them.
    private static func place(of section: clinux_elf_section, in file: UnsafeRawBufferPointer) -> Range<Int>? {
        guard section.sh_offset <= file.count, section.sh_size <= file.count - Int(section.sh_offset) else {
            return nil
        }
        return Int(section.sh_offset)..<Int(section.sh_offset) + Int(section.sh_size)
    }

    private static func load<Value: BitwiseCopyable>(
        _ type: Value.Type, at offset: Int, in file: UnsafeRawBufferPointer
    ) -> Value? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= file.count else { return nil }
        return file.loadUnaligned(fromByteOffset: offset, as: type)
    }

    private static func name(at offset: Int, in file: UnsafeRawBufferPointer) -> String? {
        guard offset < file.count else { return nil }
        let bytes = file[offset...].prefix { $0 != 0 }
        let mangled = String(decoding: bytes, as: UTF8.self)
        guard let text = clinux_demangled(mangled, UInt(mangled.utf8.count)) else { return mangled }
        defer { clinux_free(text) }
        return String(cString: text)
    }
}

extension [clinux_elf_section?] {
    fileprivate func ofType(_ type: Int32) -> [clinux_elf_section] {
        compactMap(\.self).filter { $0.sh_type == UInt32(type) }
    }
}
