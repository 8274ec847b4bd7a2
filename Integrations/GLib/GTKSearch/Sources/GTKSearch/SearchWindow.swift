import CGTK
import RunLoopKit

/// A window with a search field, the matches below it, and a line about what has happened.
@MainActor final class SearchWindow {
    private let entry = gtk_search_entry_new()!
    private let matches = gtk_label_new("Type the name of an element")!
    private let status = gtk_label_new("")!
    private let elements = Elements()

    private var keys = 0
    private var searches = 0
    private var seconds = 0

    /// Called when the matches are shown.
    var onAnswer: (() -> Void)?

    /// A limiter: the search begins when no key has been pressed for 300 ms.
    private let search = Debounce<String>(interval: .milliseconds(300), on: .main)

    /// A timer.
    private let clock = Loop.Timer(every: .seconds(1))

    /// - Parameter changed: GTK's callback for a changed text, which calls `textHasChanged()`.
    init(of application: UnsafeMutablePointer<GtkApplication>, changed: @convention(c) () -> Void) {
        let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)!
        for margin in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { margin(box, 12) }
        for margin in [gtk_widget_set_margin_start, gtk_widget_set_margin_end] { margin(box, 12) }
        for widget in [entry, matches, status] {
            // Kept: a handler may come after the window is closed, and with it what is inside.
            g_object_ref_sink(widget)
            gtk_box_append(UnsafeMutableRawPointer(box).casted(), widget)
        }
        gtk_widget_set_vexpand(matches, 1)
        gtk_label_set_wrap(OpaquePointer(matches), 1)
        g_signal_connect_data(entry, "changed", changed, nil, nil, GConnectFlags(0))
        let window: UnsafeMutablePointer<GtkWindow> = UnsafeMutableRawPointer(
            gtk_application_window_new(application)!
        ).casted()
        gtk_window_set_title(window, "RunLoopKit under GTK 4")
        gtk_window_set_default_size(window, 420, 220)
        gtk_window_set_child(window, box)
        gtk_window_present(window)
        search.setHandler(isolation: .shared) { [weak self] text in
            // A task of the main actor, which waits for another actor.
            Task { await self?.showMatches(of: text) }
        }
        clock.setHandler(isolation: .shared) { [weak self] _ in
            self?.seconds += 1
            self?.showStatus()
        }
        Loop.main.add(clock, in: .common)
    }

    var text: String { String(cString: gtk_editable_get_text(OpaquePointer(entry))) }

    var summary: String { "keys: \(keys), searches: \(searches)" }

    /// Appends to the text, as keys do.
    func type(_ text: Substring) {
        var end = Int32(self.text.utf8.count)
        gtk_editable_insert_text(OpaquePointer(entry), String(text), -1, &end)
    }

    func textHasChanged() {
        keys += 1
        showStatus()
        search(text)
    }

    private func showMatches(of text: String) async {
        let names = await elements.names(with: text)
        searches += 1
        gtk_label_set_text(OpaquePointer(matches), names.isEmpty ? "None" : names.joined(separator: ", "))
        showStatus()
        onAnswer?()
    }

    private func showStatus() {
        gtk_label_set_text(OpaquePointer(status), "\(summary), seconds: \(seconds)")
    }
}

extension UnsafeMutableRawPointer {
    /// What GTK's cast macros do: each object begins with those that it inherits from.
    func casted<Object>() -> UnsafeMutablePointer<Object> { assumingMemoryBound(to: Object.self) }
}
