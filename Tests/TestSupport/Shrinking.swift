/// A random program as data: scripts of steps, some of which a failure may not need.
package protocol ScriptedProgram {
    associatedtype Step
    var scripts: [[Step]] { get set }
}

extension ScriptedProgram {
    /// The program without the steps that its failure does not need.
    ///
    /// - Parameter fails: Whether a program fails. It is called at least once for every step.
    package func shrunk(while fails: (Self) -> Bool) -> Self {
        var best = self
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for script in best.scripts.indices {
                for index in best.scripts[script].indices.reversed() {
                    var next = best
                    next.scripts[script].remove(at: index)
                    guard fails(next) else { continue }
                    best = next
                    isSmaller = true
                }
            }
        }
        return best
    }
}
