import RunLoopKit

/// The functions that a thread was in, innermost first.
public struct Backtrace: Sendable, CustomStringConvertible {
    /// One function of a backtrace.
    public struct Frame: Sendable, CustomStringConvertible {
        /// The address of an instruction in the function: of the call of the frame before.
        public let address: UInt
        /// The path of the program or library; nil for code that is in no file.
        public let module: String?
        /// The module's build id, in hexadecimal; empty if it has none.
        public let buildID: String
        /// The address in the module's file, for `llvm-symbolizer --obj=MODULE`.
        public let moduleOffset: UInt
        /// The function, demangled if it is of Swift; nil for a file without symbols.
        public let function: String?
        /// How far behind the function's beginning the address is.
        public let functionOffset: UInt

        /// The function with the file or, without symbols, the address in the file and its build id.
        public var description: String {
            guard let module else { return "0x" + String(address, radix: 16) }
            let file = String(module.split(separator: "/").last ?? "?")
            if let function { return "\(function) + \(functionOffset) in \(file)" }
            let place = "\(file) + 0x" + String(moduleOffset, radix: 16)
            return buildID.isEmpty ? place : "\(place) (build id \(buildID))"
        }
    }

    /// The functions, innermost first. Empty if there is no backtrace: because the thread blocks the signal, because
    /// the stall ended meanwhile, or because none was requested.
    public let frames: [Frame]

    /// A backtrace whose functions have no names yet: see ``named()``.
    init(unnamed addresses: [UInt]) {
        frames = addresses.map {
            Frame(address: $0, module: nil, buildID: "", moduleOffset: 0, function: nil, functionOffset: 0)
        }
    }

    /// The same, with the names of the functions.
    func named() -> Backtrace { Backtrace(frames.map(\.address)) }

    /// Finds the names of the functions. Reads files, and allocates.
    init(_ addresses: [UInt]) {
        let modules = System.modules(containing: addresses)
        var frames = zip(addresses, modules).map { address, module in
            Frame(
                address: address, module: module?.path, buildID: module?.buildID ?? "",
                moduleOffset: address - (module?.base ?? 0), function: nil, functionOffset: 0)
        }
        // Each file is read once.
        for indices in Dictionary(grouping: frames.indices, by: { modules[$0].map { ObjectIdentifier($0) } }).values {
            guard let module = modules[indices[0]] else { continue }
            let functions = SymbolTable.functions(at: indices.map { frames[$0].moduleOffset }, in: module)
            for (index, function) in zip(indices, functions) {
                if let function { frames[index] = frames[index].named(function) }
            }
        }
        self.frames = frames
    }

    /// The frames of the handler: those before the loop's call of it. All frames, if that is not among them.
    public var ofHandler: some Collection<Frame> {
        frames.prefix { !($0.function.map { $0.contains("RunLoopKit.loopIs") } ?? false) }
    }

    /// A numbered line for each frame of the handler.
    public var description: String {
        ofHandler.enumerated().map { "\($0.offset < 10 ? " " : "")\($0.offset)  \($0.element)" }.joined(separator: "\n")
    }
}

extension Backtrace.Frame {
    fileprivate func named(_ function: SymbolTable.Function) -> Self {
        Self(
            address: address, module: module, buildID: buildID, moduleOffset: moduleOffset, function: function.name,
            functionOffset: function.offset)
    }
}
