/// What jobs leave behind that are done one after the other: how many they were, whether they came in order, and on
/// which threads.
///
/// Nothing is locked: one job comes after the other, and whoever reads has waited for the last one, or for the end of
/// its thread.
final class JobLog: @unchecked Sendable {
    private(set) var done = 0
    private(set) var isInOrder = true
    private(set) var threads: Set<Int> = []

    /// To be called by each job, with its number: 0 for the first one.
    func note(_ number: Int) {
        if number != done { isInOrder = false }
        done += 1
    }

    /// Notes the thread too. This asks the kernel, which takes longer than the rest of the job.
    func noteThread() { threads.insert(KernelThread.current) }
}
