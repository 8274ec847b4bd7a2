/// `RunLoopDemo rules`: methods that are limited from outside, and rules that outlive the program.
struct RulesCommand: Command {
    let name = "rules"
    let summary = "Limits a method from outside: for an object, for a class, and from one run to the next one."
    let discussion = """
        A class declares its method 'save' as one that rules can limit. Callers call 'save' as they call any method;
        rules decide when it runs. The story plays in virtual time, so its seconds pass at once.

        Rules for classes can be saved. With '--file' the first run writes its rule to that file, as JSON and in one
        step, and a later run reads and applies it: run the command twice. Without '--file' the program plays both
        runs: it saves the rule in a temporary file, and starts itself a second time. If the file has other contents,
        the exit code is 65, and the file is not changed. If it cannot be read, the exit code is 66.

        With '--format json' each line is an object: "chapter" ("object", "class", "conflict", "predicate", "keep" or
        "again"), "t" (milliseconds of virtual time since the chapter began), "event" ("apply", "refused", "call",
        "run", "change", "discard", "save", "load" or "list") and "text".
        """
    let options: [Option] = [
        .value("file", "PATH", "The file that keeps the rule from run to run. Default: a temporary file."),
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
