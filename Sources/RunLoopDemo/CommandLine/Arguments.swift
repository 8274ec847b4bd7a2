/// The words after a subcommand's name, divided into options and operands.
///
/// Understands `--name value`, `--name=value`, flags, and `--`, after which everything is an operand. The last
/// occurrence of an option counts.
struct Arguments {
    private(set) var operands: [String] = []
    private(set) var wantsHelp = false
    private var flags: Set<String> = []
    private var values: [String: String] = [:]

    init(_ words: [String], options: [Option], operands allowed: Operands) throws(UsageError) {
        var rest = words[...]
        while let word = rest.popFirst(), !wantsHelp {
            if word == "--" {
                operands += rest
                break
            } else if Help.isAskedFor(by: word) {
                wantsHelp = true
            } else if word.hasPrefix("-"), word != "-" {
                try readOption(word, &rest, options)
            } else {
                operands.append(word)
            }
        }
        if !wantsHelp { try checkOperands(allowed) }
    }

    // MARK: Values

    func hasFlag(_ name: String) -> Bool { flags.contains(name) }

    func value(of name: String) -> String? { values[name] }

    /// The value of an option that is one of a few words.
    func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String, default defaultChoice: Choice
    ) throws(UsageError) -> Choice {
        guard let value = values[name] else { return defaultChoice }
        guard let choice = Choice(rawValue: value) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--\(name) cannot be \(value.debugDescription), only one of: \(known)")
        }
        return choice
    }

    /// The value of an option that is a whole number within bounds.
    func number(_ name: String, default defaultNumber: Int, in bounds: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let value = values[name] else { return defaultNumber }
        guard let number = Int(value), bounds.contains(number) else {
            throw UsageError(
                "--\(name) cannot be \(value.debugDescription), only a number from \(bounds.lowerBound) to "
                    + "\(bounds.upperBound)")
        }
        return number
    }

    // MARK: Parsing

    /// The command line's words. Refuses a word that is not UTF-8: repaired, it would name another file.
    static func words() throws(UsageError) -> [String] {
        var words: [String] = []
        for (index, word) in CommandLine.arguments.enumerated().dropFirst() {
            guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) != nil else {
                throw UsageError("argument \(index) is not UTF-8: \(word.debugDescription)")
            }
            words.append(word)
        }
        return words
    }

    private mutating func readOption(
        _ word: String, _ rest: inout ArraySlice<String>, _ options: [Option]
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let option = options.first(where: { "--\($0.name)" == parts[0] }) else {
            throw UsageError("unknown option \(parts[0].debugDescription)")
        }
        let attached = parts.count > 1 ? parts[1] : nil
        guard option.value != nil else {
            guard attached == nil else { throw UsageError("--\(option.name) takes no value") }
            flags.insert(option.name)
            return
        }
        values[option.name] = if let attached { attached } else { try takeValue(of: option, &rest) }
    }

    private func takeValue(of option: Option, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        // Another option is not a value: the value is missing.
        guard let value = rest.popFirst(), !value.hasPrefix("--") else {
            throw UsageError("--\(option.name) needs a value")
        }
        return value
    }

    private func checkOperands(_ allowed: Operands) throws(UsageError) {
        if operands.count > allowed.count.upperBound {
            throw UsageError("unexpected argument \(operands[allowed.count.upperBound].debugDescription)")
        }
        if operands.count < allowed.count.lowerBound { throw UsageError("missing argument: \(allowed.usage)") }
    }
}

/// An invalid command line. The message is one line: it quotes the command line with `debugDescription`, which escapes
/// line breaks.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
