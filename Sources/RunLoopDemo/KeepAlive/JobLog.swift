/// The record of jobs that run one after the other: their number, whether they ran in order, and their threads.
///
/// It needs no lock: the jobs run one after the other, and a reader has waited for the last job, or for the end of its
/// thread.
final class JobLog: @unchecked Sendable {
    private(set) var done = 0
    private(set) var isInOrder = true
    private(set) var threads: Set<Int> = []

    /// Each job calls this with its number: 0 for the first one.
    func note(_ number: Int) {
        if number != done { isInOrder = false }
        done += 1
    }

    /// Notes the thread too. This asks the kernel, which takes longer than the rest of the job.
    func noteThread() { threads.insert(KernelThread.current) }
}
