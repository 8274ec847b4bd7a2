// A GTK 4 window whose label a @MainActor task updates: GLib's main loop, on which GTK runs, hosts Loop.main. With a
// number of seconds as its argument the program ends by itself after that time.
import CGTK
import RunLoopKit

guard gtk_init_check() != 0 else {
    print("GTKHost: there is no display")
    exit(69)
}

/// GTK's objects, for code on the main actor.
struct Interface {
    let window: UnsafeMutablePointer<GtkWindow>
    let label: UnsafeMutablePointer<GtkWidget>

    init() {
        window = UnsafeMutableRawPointer(gtk_window_new()).assumingMemoryBound(to: GtkWindow.self)
        label = gtk_label_new("Waiting for the main actor")
        gtk_window_set_title(window, "RunLoopKit under GTK 4")
        gtk_window_set_default_size(window, 420, 140)
        gtk_window_set_child(window, label)
        gtk_window_present(window)
    }

    func show(_ text: String) { gtk_label_set_text(OpaquePointer(label), text) }
}

let interface = Interface()
let mainLoop = g_main_loop_new(nil, 0)

// RunLoopKit: this is all it takes.
let descriptor = try Loop.main.beginHosting()
g_unix_fd_add(
    descriptor, G_IO_IN,
    { _, _, _ in
        Loop.main.hostedPass()
        return 1  // G_SOURCE_CONTINUE
    }, nil)

Task { @MainActor in
    var seconds = 0
    while true {
        interface.show("A @MainActor task has updated this label \(seconds + 1) times")
        try await Task.sleep(for: .seconds(1))
        seconds += 1
    }
}

if let seconds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) {
    Loop.main.add(
        Loop.Timer(after: .seconds(seconds), isolation: .shared) { _ in g_main_loop_quit(mainLoop) },
        in: .common)
}

g_main_loop_run(mainLoop)
Loop.main.endHosting()
