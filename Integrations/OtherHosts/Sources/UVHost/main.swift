// libuv hosts Loop.main.
import CUV
import RunLoopKit

var done: Set<String> = []
@MainActor func finish(_ what: String) {
    done.insert(what)
    if done.count == 3 { Loop.main.stop() }
}

Loop.main.add(
    Loop.Timer(after: .milliseconds(5), isolation: .shared) { _ in finish("a timer of Loop.main") }, in: .common)
Task { @MainActor in finish("a task of the main actor") }
let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
uv_timer_init(uv_default_loop(), timer)
uv_timer_start(timer, { _ in MainActor.assumeIsolated { finish("a timer of libuv") } }, 5, 0)

let watch = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
uv_poll_init(uv_default_loop(), watch, try Loop.main.hosting.begin())
uv_poll_start(watch, Int32(UV_READABLE.rawValue)) { _, _, _ in
    if Loop.main.hosting.pass() == .stopped { uv_stop(uv_default_loop()) }
}
uv_run(uv_default_loop(), UV_RUN_DEFAULT)
uv_poll_stop(watch)
Loop.main.hosting.end()
print("libuv: \(done.sorted().joined(separator: ", "))")
