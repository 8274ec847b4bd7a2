/// Traps with a text unless a condition holds, even in release builds, where `precondition` prints nothing.
@inline(__always)
package func require(
    _ condition: Bool, _ mistake: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line
) {
    if !condition { fatalError("RunLoopKit: \(mistake())", file: file, line: line) }
}
