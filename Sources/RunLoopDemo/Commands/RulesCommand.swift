/// `RunLoopDemo rules`: methods that are limited from outside, and rules that outlive the program.
struct RulesCommand: Command {
    let name = "rules"
    let summary = "Limits a method from outside: for an object, for a class, and from one run to the next."
    let discussion = """
        A class declares its method 'save' as one that rules can limit. Callers just call 'save'; rules decide when it
        runs. The story plays in virtual time: its seconds pass at once.

        Rules for classes can be kept. With '--file' the first run saves its rule there, as JSON and in one step, and a
        later run finds it and applies it: run it twice. Without '--file' the program plays both runs: it keeps the rule
        in a temporary file and starts itself a second time.
        A file with something else in it ends it with exit code 65, and is left alone. One that cannot be read is exit
        code 66.

        With '--format json' each line is an object: "chapter" ("object", "class", "conflict", "predicate", "keep" or
        "again"), "t" (milliseconds of virtual time since the chapter began), "event" ("apply", "refused", "call",
        "run", "change", "discard", "save", "load" or "list") and "text".
        """
    let options: [Option] = [
        .value("file", "PATH", "Where the rule is kept from run to run. Default: a temporary file."),
        .format,
    ]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let path = arguments.value(of: "file")
        if path == "" { throw UsageError("--file needs a path") }
        Interruption.heed(in: [.default])
        let log = try RulesLog(isJSON: format == .json)
        do {
            if let path {
                try RulesRuns(log: log, file: RulesFile(path: path)).playOne()
            } else {
                return try RulesRuns.playBoth(log: log, formatName: format.rawValue)
            }
        } catch let error as RulesFile.NoSnapshot {
            StandardError.complain(error.message)
            return .malformedInput
        }
        return .success
    }
}
