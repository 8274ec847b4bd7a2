import RunLoopKit

/// `RunLoopDemo replay`: plays recorded calls to rate limiters.
struct ReplayCommand: Command {
    let name = "replay"
    let summary = "Plays recorded calls to throttle and debounce, and shows when each would have acted."
    let discussion = """
        Reads FILE, or standard input if it is '-'. Each line is a scenario, a JSON object; times are whole
        milliseconds, in ascending order:

          {"id":7,"kind":"throttle","wait":32,"ops":[{"t":0,"op":"call","v":4}]}

        "kind" is "throttle" or "debounce"; a debounce may have a "maxWait". "leading" and "trailing" are true or
        false; by default a throttle has both edges, a debounce only the trailing one. "op" is "call", "flush" or
        "cancel"; "v" is the argument of a call, a whole number. Other members and empty lines are ignored.

        Each scenario is played as soon as it is read, on the library's own Throttle or Debounce in virtual time.
        These never act without any edge; such a scenario is played on the rules alone (RateLimitState). After the
        last operation time continues until nothing is pending.

        With '--format json' each result is an object, for the line above {"id":7,"invocations":[[0,4]]}: at 0 ms the
        action ran with 4.

        A line that is malformed, or longer than 1 MiB (1048576 bytes), ends the program with exit code 65 and a
        message that names the line; the results of the lines before it are complete. JSON is read strictly, as RFC
        8259 defines it: in UTF-8, without comments or trailing commas, no name twice in an object, and nested at most
        100 deep. If the input cannot be read, the exit code is 66.
        """
    let operands = Operands(usage: "FILE|-", count: 1...1)
    let options: [Option] = [.format]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let file = InputFile(arguments.operands[0])
        let descriptor = try file.opened()
        let stage = try Stage()
        let replay = LoopBound(Replay(writer: makeWriter(format)), on: .main)
        let error = LoopBound<Int32>(0, on: .main)
        let reader = try InputReader(descriptor, on: .main) { input in
            switch input {
            case .bytes(let bytes): if !replay.value.read(bytes) { stage.proceed() }
            case .end:
                replay.value.finish()
                stage.proceed()
            case .failure(let code):
                error.value = code
                stage.proceed()
            }
        }
        stage.wait()
        reader.stop()
        if error.value != 0 { throw file.readFailed(error.value) }
        guard let complaint = replay.value.complaint else { return .success }
        throw MalformedInput(message: "\(file.name), \(complaint)")
    }

    private func makeWriter(_ format: OutputFormat) -> any ReplayWriter {
        switch format {
        case .text: TextReplayWriter(width: StandardOutput.width, usesColour: TextStyle.isWanted)
        case .json: JSONReplayWriter()
        }
    }
}
