extension LoopThreadPool: CustomStringConvertible {
    /// The pool in one line, for people to read: its name, its threads, and the work of each that is not finished. From
    /// any thread.
    ///
    /// ```
    /// LoopThreadPool "files": 3 threads, unfinished work: 0, 2, 1
    /// ```
    public var description: String {
        let work = unfinished.map { "\($0)" }.joined(separator: ", ")
        return "LoopThreadPool \"\(name.printable)\": \(counted(count, "thread")), unfinished work: \(work)"
    }
}
