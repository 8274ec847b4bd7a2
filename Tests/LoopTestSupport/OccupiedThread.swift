import RunLoopKit
import TestSupport

extension LoopThread {
    /// Returns when the thread is in a block. It stays there until the gate is opened.
    package func occupy() -> Gate {
        let (go, began) = (Gate(), Gate())
        perform {
            began.open()
            go.wait()
        }
        began.wait()
        return go
    }
}
