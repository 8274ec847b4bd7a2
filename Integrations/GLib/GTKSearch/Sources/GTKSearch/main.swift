// A search field under GTK 4, whose main loop runs Loop.main: a limiter, a timer, tasks of the main actor and a signal
// source run on GTK's thread. With a text as its argument the program types that text itself, and ends when the matches
// are shown.
import CGTK
import RunLoopKit
import RunLoopKitGLib

// Ctrl-C stops the loop, and that quits the application.
let interrupt = try Loop.SignalSource(SIGINT) { _, _ in Loop.main.stop() }
Loop.main.add(interrupt, in: .common)

guard gtk_init_check() != 0 else {
    print("GTKSearch: there is no display")
    exit(69)
}
let application = gtk_application_new("org.example.GTKSearch", G_APPLICATION_NON_UNIQUE)!
let gApplication: UnsafeMutablePointer<GApplication> = UnsafeMutableRawPointer(application).casted()
var window: SearchWindow?

/// Types the text, one character every 50 ms.
@MainActor func type(_ text: String) {
    window?.onAnswer = {
        guard let window, window.text == text else { return }
        print("\(window.text): \(window.summary)")
        g_application_quit(gApplication)
    }
    let typing = Loop.Timer(every: .milliseconds(50), isolation: .shared) { firing in
        guard let window else { return }
        window.type(text.dropFirst(window.text.count).prefix(1))
        if window.text == text { firing.timer.invalidate() }
    }
    Loop.main.add(typing, in: .common)
}

g_signal_connect_data(
    application, "activate",
    {
        MainActor.assumeIsolated {
            window = SearchWindow(of: application) {
                MainActor.assumeIsolated { window?.textHasChanged() }
            }
            if let text = CommandLine.arguments.dropFirst().first {
                type(text)
            }
        }
    }, nil, nil, GConnectFlags(0))

let attachment = try Loop.main.attach(to: .default) {
    g_application_quit(gApplication)
}
let status = g_application_run(gApplication, 0, nil)
attachment.detach()
exit(status)
