/// A loop, as its virtual clock sees it.
protocol ClockedLoop: AnyObject {
    /// The thread that the loop belongs to.
    var owner: ThreadID { get }

    var isOnOwnThread: Bool { get }

    /// Whether the loop is in a run, or hosted.
    var isInRun: Bool { get }

    /// What the clock wakes when the loop's deadline has come. The clock may retain it: it does not retain the loop.
    var wakeable: any Wakeable { get }

    /// When the first timer of the default mode is due.
    var nextWakeUpTime: Int64? { get }

    /// Whether a pass of the default mode would find something to do at once.
    var hasWorkNow: Bool { get }

    /// How many passes it has made.
    var passCount: Int { get }

    /// Whether its thread may serve it: it runs the loop, or is about to, or is the calling one.
    var isServed: Bool { get }

    /// Reports that a deadline has come by hand, later than `start`, which the loop does not serve. Called by another
    /// thread, with no lock held.
    func reportIfUnserved(after start: Int64, until end: Int64)

    /// Called when the clock's wall clock was set.
    func followWallClock()

    /// Runs the default mode until a time, and then for as long as there is something to do without time passing. On
    /// the loop's thread.
    func serve(until target: Int64)
}

/// What sleeps and can be woken by any thread.
protocol Wakeable: AnyObject {
    /// Whether it sleeps and nothing has woken it.
    var isAsleep: Bool { get }

    /// Makes it look again.
    func nudge()
}
