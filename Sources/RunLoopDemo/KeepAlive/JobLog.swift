/// The record of jobs that run one after the other: their number, whether they ran in order, and their threads.
///
/// It needs no lock: the jobs run one after the other, and a reader has waited for the last job, or for the end of its
/// thread.
final class JobLog: @unchecked Sendable {
    private(set) var done = 0
    private(set) var isInOrder = true
    private(set) var threads: Set<Int> = []
    /// How often the kernel was asked for a thread.
    private(set) var kernelQuestions = 0
    /// The thread of the last job that noted its thread.
    private var lastThread: pthread_t?

    /// Each job calls this with its number: 0 for the first one.
    func note(_ number: Int) {
        if number != done { isInOrder = false }
        done += 1
    }

    /// Notes the thread too. Asks the kernel, which takes longer than a job, only if the thread is another one than the
    /// last time.
    func noteThread() {
        let thread = pthread_self()
        if let lastThread, pthread_equal(lastThread, thread) != 0 { return }
        lastThread = thread
        kernelQuestions += 1
        threads.insert(KernelThread.current)
    }
}
