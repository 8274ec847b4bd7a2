// The calls of handlers. These functions are never inlined: in a backtrace or a profile their names tell what the loop
// was doing. (The empty function at the end keeps the call from becoming a tail call, which would remove the frame.)

@inline(never)
private func keepFrame() {}

@inline(never)
func loopIsCallingOutToAnObserver(_ observer: Loop.Observer, _ activity: Loop.Activity) {
    observer.observe(activity)
    keepFrame()
}

@inline(never)
func loopIsCallingOutToABlock(_ block: @Sendable () -> Void) {
    block()
    keepFrame()
}

@inline(never)
func loopIsCallingOutToASource0(_ source: Loop.Source0) {
    source.perform()
    keepFrame()
}

@inline(never)
func loopIsCallingOutToASource1(_ source: any Source1, _ report: Report, _ mode: ModeState) -> Int {
    let dueCount = source.perform(report, in: mode)
    keepFrame()
    return dueCount
}

@inline(never)
func loopIsServicingTheMainDispatchQueue() {
    System.drainMainQueue()
    keepFrame()
}

@inline(never)
func loopIsCallingOutToATimer(_ firing: Loop.Timer.Firing) {
    firing.timer.fire(firing)
    keepFrame()
}

@inline(never)
func loopIsRunningAJob(_ job: JobQueue.Job, of loop: Loop?) {
    // A job that is run as the other kind crashes, or is enqueued again at every step.
    if let taskExecutor = job.taskExecutor {
        job.job.runSynchronously(on: taskExecutor.asUnownedTaskExecutor())
    } else {
        // An actor's loop is alive: see giveUpJobs(isDeallocating:).
        job.job.runSynchronously(on: loop!.asUnownedSerialExecutor())
    }
    keepFrame()
}

extension Loop {
    /// Calls a handler. Traps if a forked child returns from it: the child would call the next handlers too, and
    /// consume what its parent waits for, such as the wake-up of the main queue.
    @inline(__always)
    func callOut<Result>(_ callout: @autoclosure () -> Callout, _ handler: () -> Result) -> Result {
        Lock.assertNoneHeld()
        // Each handler begins without knowledge of a closing: see `callerKnowsOfClosing`.
        if isClosing { callerKnowsOfClosing = false }
        defer {
            process.requireCurrent()
            own.hasAskedLast = false
        }
        guard isMonitored.load(ordering: .relaxed) else { return handler() }
        let callout = callout()
        notifyOfBeginning(of: callout)
        defer { notifyOfEnd(of: callout) }
        return handler()
    }

    @inline(never)
    func notifyOfBeginning(of callout: Callout) { notifyMonitors { $0.willCallOut(callout) } }

    @inline(never)
    func notifyOfEnd(of callout: Callout) { notifyMonitors { $0.didCallOut(callout) } }
}
