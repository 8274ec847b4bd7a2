extension RunLoopDemo {
    /// All subcommands; the first one is the default.
    static let commands: [any Command] = [
        TraceCommand(), KeepAliveCommand(), ThrottleCommand(), ReplayCommand(), RulesCommand(),
        LinesCommand(), FeedbackCommand(), StallCommand(),
    ]
}
