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

    /// The module of each frame, until the functions have names; empty then.
    private let unnamed: [LoadedModule?]

    /// Finds the names of the functions. Reads files, and allocates.
    init(_ addresses: [UInt]) { self = Backtrace(unnamed: addresses).named() }

    /// A backtrace whose functions have no names yet: see ``named()``. Finds the modules, which may be unloaded later.
    init(unnamed addresses: [UInt]) {
        unnamed = System.modules(containing: addresses)
        frames = zip(addresses, unnamed).map { address, module in
            Frame(
                address: address, module: module?.path, buildID: module?.buildID ?? "",
                moduleOffset: address - (module?.base ?? 0), function: nil, functionOffset: 0)
        }
    }

    init(frames: [Frame]) { (self.frames, unnamed) = (frames, []) }

    /// The same, with the names of the functions. Reads files, for a tenth of a second in a debug build. It asks the
    /// loader nothing: the modules are those of the time when the addresses were taken.
    func named() -> Backtrace {
        var frames = frames
        // Each file is read once.
        for indices in Dictionary(grouping: unnamed.indices, by: { unnamed[$0].map { ObjectIdentifier($0) } }).values {
            guard let module = unnamed[indices[0]] else { continue }
            let functions = SymbolTable.functions(at: indices.map { frames[$0].moduleOffset }, in: module)
            for (index, function) in zip(indices, functions) {
                if let function { frames[index] = frames[index].named(function) }
            }
        }
        return Backtrace(frames: frames)
    }

    /// The frames of the handler: those before the loop's call of it. All frames, if that is not among them.
    public var ofHandler: some Collection<Frame> {
        frames.prefix { !($0.function.map { $0.contains("RunLoopKit.loopIs") } ?? false) }
    }

    /// A line for each frame of the handler, with its number in ``ofHandler``. The compiler's thunks are left out:
    /// those that reabstract a closure, and those that only pass a closure's values to the frame before.
    public var description: String {
        var lines: [String] = []
        var callee: Frame?
        for (number, frame) in ofHandler.enumerated() {
            if !frame.isThunk(calling: callee) { lines.append("\(number < 10 ? " " : "")\(number)  \(frame)") }
            callee = frame
        }
        return lines.joined(separator: "\n")
    }
}

extension Backtrace.Frame {
    /// Whether the function has no code of the program's. Its symbol ends with `TR` or `TRTA`; or it is that of the
    /// callee and `TA`. A forwarder (`TA`) that calls something else has the closure inlined. The demangler has words
    /// for the endings.
    fileprivate func isThunk(calling callee: Self?) -> Bool {
        guard let function else { return false }
        let forwarder = "partial apply forwarder for "
        let target = function.hasPrefix(forwarder) ? String(function.dropFirst(forwarder.count)) : function
        return target.hasPrefix("reabstraction thunk helper ") || target != function && target == callee?.function
    }

    fileprivate func named(_ function: SymbolTable.Function) -> Self {
        Self(
            address: address, module: module, buildID: buildID, moduleOffset: moduleOffset, function: function.name,
            functionOffset: function.offset)
    }
}
