// SDL hosts Loop.main. Another thread watches the loop's descriptor, and pushes an event when it is readable.
import CSDL
import RunLoopKit

var done: Set<String> = []
@MainActor func finish(_ what: String) {
    done.insert(what)
    if done.count == 3 { Loop.main.stop() }
}

Loop.main.add(
    Loop.Timer(after: .milliseconds(5), isolation: .shared) { _ in finish("a timer of Loop.main") }, in: .common)
Task { @MainActor in finish("a task of the main actor") }
guard SDL_Init(SDL_INIT_VIDEO) == 0 else { fatalError(String(cString: SDL_GetError())) }
let ownType = SDL_RegisterEvents(2)
let wakeUp = ownType + 1
var own = SDL_Event()
own.type = ownType
SDL_PushEvent(&own)

@MainActor func run() throws {
    var isOver = false
    let descriptor = try Loop.main.hosting.begin()
    let watcher = try LoopThread(name: "watcher")
    let source = try Loop.FileDescriptorSource(
        descriptor, trigger: .edge
    ) { [wakeUp] _, _ in
        var event = SDL_Event()
        event.type = wakeUp
        SDL_PushEvent(&event)
    }
    watcher.loop.add(source, in: .common)

    var event = SDL_Event()
    while !isOver, SDL_WaitEvent(&event) != 0 {
        if event.type == SDL_QUIT.rawValue { isOver = true }
        if event.type == ownType { finish("an event of SDL") }
        if event.type == wakeUp, Loop.main.hosting.pass() == .stopped {
            isOver = true
        }
    }
    source.invalidate()  // first
    Loop.main.hosting.end()
    watcher.stop()
    watcher.join()
}

try run()
SDL_Quit()
print("SDL: \(done.sorted().joined(separator: ", "))")
